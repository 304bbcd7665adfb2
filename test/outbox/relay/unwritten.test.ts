import { left, right } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { ordered } from '../../../src/outbox/ordered.ts'
import { memoryOutbox } from '../../../src/outbox/memoryOutbox.ts'
import { relay } from '../../../src/outbox/relay.ts'
import { retryable } from '../../../src/core/failure.ts'
import { exponential } from '../../../src/policy/retryPolicy.ts'
import type { Outbox } from '../../../src/outbox/outbox.ts'
import { scriptedSink } from '../../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../../src/testing/virtualClock.ts'

/** As many as may be on their way into a store while others go on (HD48). */
const MOST_UNWRITTEN = 16

/** A relay over a store that takes `latency` milliseconds to write anything down, and a sink that takes 10. */
const world = (
  latency: number,
  maxInFlight: number,
  around: (outbox: Outbox<string>) => Outbox<string> = (outbox) => outbox,
) => {
  const clock = virtualClock()
  const outbox = memoryOutbox<string>()
  const started: string[] = []
  const ended: string[] = []
  const slowly = (write: () => unknown): Promise<void> =>
    new Promise((resolve) => {
      clock.schedule(latency, () => {
        write()
        resolve()
      })
    })
  const work = relay<string>({
    sink: scriptedSink<string>({
      clock,
      reply: (item) => {
        started.push(`${String(clock.monotonic())} ${item}`)
        return {
          verdict: item.startsWith('busy') ? left(retryable('busy')) : right({ sink: 's' }),
          after: 10,
        }
      },
    }),
    outbox: around({
      ...outbox,
      end: (...args) => slowly(() => outbox.end(...args)),
      park: (...args) => slowly(() => outbox.park(...args)),
    }),
    retry: exponential({ base: 10_000, factor: 1 }),
    clock,
    random: () => 0,
    maxInFlight,
    ended: ({ item }) => ended.push(`${String(clock.monotonic())} ${item}`),
  })
  return { clock, work, started, ended }
}

const offer = async (work: ReturnType<typeof world>['work'], items: ReadonlyArray<string>): Promise<void> => {
  for (const item of items) await work.offer(item)
}

const many = (word: string, count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, n) => `${word} ${String(n)}`)

it('the next one starts when the one before it was delivered, and not when that is written down', async () => {
  const { clock, work, started, ended } = world(1_000, 1)
  await offer(work, ['a', 'b', 'c'])
  await clock.advance(1_029)
  expect(started).toEqual(['0 a', '10 b', '20 c'])
  // Told is what the store has.
  expect(ended).toEqual(['1010 a', '1020 b'])
})

it('so does the next one of its key, in order', async () => {
  const { clock, work, started } = world(1_000, 4, (outbox) =>
    ordered(outbox, { keyOf: () => 'key', defect: () => undefined }),
  )
  await offer(work, ['a', 'b', 'c'])
  await clock.advance(100)
  expect(started).toEqual(['0 a', '10 b', '20 c'])
})

it('behind one that is to be retried its key waits all the same', async () => {
  const { clock, work, started } = world(1_000, 4, (outbox) =>
    ordered(outbox, { keyOf: () => 'key', defect: () => undefined }),
  )
  await offer(work, ['busy', 'b'])
  await clock.advance(9_000)
  expect(started).toEqual(['0 busy'])
})

it.each([
  ['has ended', 'item'],
  ['is to be retried', 'busy'],
])('of a store that writes nothing down, no more than that is held of what %s', async (_, word) => {
  for (const maxInFlight of [1, 4]) {
    const { clock, work, started, ended } = world(Infinity, maxInFlight)
    await offer(work, many(word, 40))
    await clock.advance(5_000)
    expect([started.length, ended]).toEqual([maxInFlight + MOST_UNWRITTEN, []])
  }
})

it('each that is written down lets one more start', async () => {
  const { clock, work, started, ended } = world(1_000, 2)
  await offer(work, many('item', 40))
  await clock.advance(1_009)
  expect([started.length, ended.length]).toEqual([18, 0])
  await clock.advance(1)
  expect([started.length, ended.length]).toEqual([20, 2])
  await clock.runAll()
  expect([started.length, ended.length]).toEqual([40, 40])
})
