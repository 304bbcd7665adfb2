import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { lastValueFrom, of } from 'rxjs'
import { expect, it } from 'vitest'
import { refused } from '../../src/core/failure.ts'
import { deliver, failover, firstSuccess, lift, makeLayer, retryable, toAll } from '../../src/index.ts'
import type { Attempt, Sink, Verdict } from '../../src/index.ts'
import { both, exponential, limitRetries } from '../../src/policy/index.ts'
import { answer } from '../../src/sink/layer.ts'
import { scriptedSink, virtualClock } from '../../src/testing/index.ts'
import { runs } from '../support/runs.ts'

const held = left(retryable('held'))
const verdicts: Readonly<Record<string, Verdict>> = {
  ...{ taken: right({ sink: 'leaf' }), refused: left(refused('status')) },
  ...{ busy: left(retryable('status')), held },
}

/** A sink with its answers, in the end `taken`, or a combination; inside a gate that holds back at times. */
interface Node {
  readonly holds: ReadonlyArray<boolean>
  readonly inner: ReadonlyArray<string> | readonly [typeof toAll, ReadonlyArray<Node>]
}
const holds = fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.array(fc.boolean(), { maxLength: 4 }))
const words = fc.constantFrom('held', ...Object.keys(verdicts))
const { node } = fc.letrec<{ node: Node; leaf: Node }>((tie) => {
  const children = fc.array(tie('node'), { minLength: 1, maxLength: 3 })
  const inner = fc.tuple(fc.constantFrom(toAll, firstSuccess, failover), children)
  const leaf = fc.record({ holds, inner: fc.array(words, { maxLength: 6 }) })
  return { leaf, node: fc.oneof({ maxDepth: 3 }, tie('leaf'), fc.record({ holds, inner })) }
})

const isCombination = (inner: Node['inner']): inner is Exclude<Node['inner'], ReadonlyArray<string>> =>
  typeof inner[0] === 'function'

it('in any nesting only what asks a sink is an attempt', () =>
  fc.assert(
    fc.asyncProperty(node, async (root) => {
      const clock = virtualClock()
      const asked: Array<{ readonly number: number; readonly word: string }> = []
      const leaf = (name: string, rest: string[]) => {
        const reply = (_: string, { number }: Attempt) => {
          const word = rest.shift() ?? 'taken'
          asked.push({ number, word })
          return { verdict: verdicts[word] ?? held }
        }
        return scriptedSink({ name, clock, reply })
      }
      const build = ({ inner, holds }: Node, name: string): Sink<string> => {
        const rest = [...holds]
        const partOf = (each: Node, at: number) => build(each, `${name}.${at}`)
        const made = isCombination(inner) ? inner[0](inner[1].map(partOf), { name }) : leaf(name, [...inner])
        return makeLayer(
          made,
          (subscribe) => (item, attempt, observer) =>
            rest.shift() === true ? answer(observer, held) : subscribe(item, attempt, observer),
        )
      }
      const retry = both(exponential({ base: 1 }), limitRetries(2))
      const outcome$ = of('a').pipe(lift(), deliver(build(root, 'root'), { clock, retry }))
      const outcome = await clock.run(lastValueFrom(outcome$, { defaultValue: undefined }))
      const numbers = asked.flatMap(({ word, number }) => (word === 'held' ? [] : number))
      expect(outcome).toMatchObject({ attempts: new Set(numbers).size })
    }),
    { numRuns: runs() },
  ))
