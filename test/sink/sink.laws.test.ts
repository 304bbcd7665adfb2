import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, test } from 'vitest'
import { refused } from '../../src/core/failure.ts'
import type { Verdict } from '../../src/core/failure.ts'
import { sink } from '../../src/sink/fromFunction.ts'
import type { Reply } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { nothingReached, sinkLaws } from '../laws/sink.ts'

const delivered = right({ sink: 'mine' })

/** A handler that plays a script on a virtual clock and honours the signal. */
interface World {
  readonly replies: ReadonlyArray<
    Pick<Reply, 'verdict' | 'after'> & { readonly throws: boolean; readonly spot: boolean }
  >
}

const world: fc.Arbitrary<World> = fc.record({
  replies: fc.array(
    fc.record({
      verdict: fc.constantFrom<Verdict>(right({ sink: 'mine' }), left(refused('gone'))),
      after: fc.nat(50),
      throws: fc.boolean(),
      spot: fc.boolean(),
    }),
    { minLength: 1, maxLength: 6 },
  ),
})

describe('a sink from a function keeps the contract:', () => {
  const reached = nothingReached()
  const open = ({ replies }: World): ReturnType<Parameters<typeof sinkLaws<World>>[0]['open']> => {
    const clock = virtualClock()
    let started = 0
    let running = 0
    const mine = sink('mine', (_item: number, { signal }) => {
      const reply = replies[started++ % replies.length]
      const verdict = reply?.verdict ?? delivered
      if (reply?.spot === true) {
        if (reply.throws) throw new Error('planted')
        return verdict
      }
      running++
      return new Promise((resolve, reject) => {
        const end = (settle: () => void): void => {
          running--
          settle()
        }
        const cancel = clock.schedule(reply?.after ?? 0, () => {
          end(() => (reply?.throws === true ? reject(new Error('planted')) : resolve(verdict)))
        })
        signal.addEventListener('abort', () => {
          cancel()
          end(() => reject(new Error('aborted')))
        })
      })
    })
    return {
      sink: mine,
      started: () => started,
      running: () => running,
      pass: (ms) => clock.advance(ms),
      settle: () => clock.runAll(),
    }
  }

  for (const { id, property } of sinkLaws({ worlds: world, open }, reached)) {
    test(id, async () => {
      await fc.assert(property, { numRuns: 1000 })
    })
  }

  test('and the worlds reached cancels', () => {
    expect(reached.cancelledEarly).toBeGreaterThan(200)
    expect(reached.cancelledLate).toBeGreaterThan(200)
  })
})
