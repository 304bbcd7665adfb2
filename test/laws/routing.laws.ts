/** First success, failover and toAll over several attempts, alone and inside each other. */
import { describe, it } from 'vitest'
import type { Clock } from '../../src/core/clock.ts'
import { failover, firstSuccess, toAll } from '../../src/sink/combine.ts'
import type { Sink } from '../../src/sink/sink.ts'
import { holds, same } from '../../src/testing/laws/assert.ts'
import { registerLaws } from '../../src/testing/laws/checkLaws.ts'
import {
  combinationInput,
  failoverLaws,
  firstSuccessLaws,
  playCombination,
  toAllLaws,
  type MakeCombination,
} from '../../src/testing/laws/combinatorLaws.ts'
import { lawsOver, type Law } from '../../src/testing/laws/law.ts'

/** Two groups, each of `inner`, under one `outer` that wants both. */
const nested =
  (inner: MakeCombination, outer: MakeCombination): MakeCombination =>
  (sinks, clock) => {
    const middle = Math.ceil(sinks.length / 2)
    const groups = [sinks.slice(0, middle), sinks.slice(middle)].filter((group) => group.length > 0)
    return outer(
      groups.map((group) => inner(group, clock)),
      clock,
    )
  }

export const nestedLaws = (inner: MakeCombination, outer: MakeCombination): ReadonlyArray<Law> =>
  lawsOver('nested', combinationInput, (input, run) => playCombination(nested(inner, outer), input, run), {
    'group-asked-once': {
      statement: 'No sink is asked again that refused for good, or whose group has taken the item.',
      check: ({ attempts, sinks, left }, { answers }) => {
        const groupOf = (sink: number): number => (sink < Math.ceil(sinks.length / 2) ? 0 : 1)
        const taken = new Set<number>()
        const refused = new Set<number>()
        for (const [number, { asked, verdicts, endedAt }] of attempts.entries()) {
          same([verdicts.length, endedAt === null], [1, false])
          same(new Set(asked.map(({ sink }) => sink)).size, asked.length)
          for (const { sink } of asked) {
            holds(!taken.has(groupOf(sink)), `sink ${sink} was asked after its group had taken the item`)
            holds(!refused.has(sink), `sink ${sink} was asked after a final refusal`)
          }
          for (const { sink } of asked) {
            const kind = answers[sink]?.[number]?.kind
            if (kind === 'take') taken.add(groupOf(sink))
            if (kind === 'refuse') refused.add(sink)
          }
          const groups = new Set(sinks.map((_, at) => groupOf(at)))
          same(verdicts[0]?.verdict._tag === 'Right', taken.size === groups.size)
        }
        same(left, [])
      },
    },
  })

type Sinks = ReadonlyArray<Sink<string>>
const first = (sinks: Sinks, clock: Clock): Sink<string> => firstSuccess(sinks, { clock })
const inTurn = (sinks: Sinks, clock: Clock): Sink<string> => failover(sinks, { clock })
const all = (sinks: Sinks, clock: Clock): Sink<string> => toAll(sinks, { clock })

registerLaws({ test: it }, [...firstSuccessLaws(first), ...failoverLaws(inTurn), ...toAllLaws(all)])
describe('failover in toAll', () => registerLaws({ test: it }, nestedLaws(inTurn, all)))
describe('firstSuccess in toAll', () => registerLaws({ test: it }, nestedLaws(first, all)))
