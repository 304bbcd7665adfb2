import { left, right } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { ordered } from '../../../src/outbox/ordered.ts'
import { memoryOutbox } from '../../../src/outbox/memoryOutbox.ts'
import { relay } from '../../../src/outbox/relay.ts'
import { exponential } from '../../../src/policy/retryPolicy.ts'
import { retryable } from '../../../src/core/failure.ts'
import type { Outbox } from '../../../src/outbox/outbox.ts'
import { scriptedSink } from '../../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../../src/testing/virtualClock.ts'

/** A relay over an outbox that counts how often it was asked, and how often it had nothing. */
const world = (around: (outbox: Outbox<string>) => Outbox<string> = (outbox) => outbox) => {
  const clock = virtualClock()
  const outbox = memoryOutbox<string>()
  const log: string[] = []
  let looks = 0
  let vain = 0
  const work = relay<string>({
    sink: scriptedSink<string>({
      clock,
      reply: (item) => ({
        verdict: item.startsWith('never') ? left(retryable('busy')) : right({ sink: 's' }),
        after: 100,
      }),
    }),
    outbox: around({
      ...outbox,
      take: (...args) => {
        const taken = outbox.take(...args)
        looks++
        if ('length' in taken && taken.length === 0) vain++
        return taken
      },
    }),
    retry: exponential({ base: 100, factor: 1 }),
    clock,
    random: () => 0,
    maxInFlight: 4,
    ended: ({ item }) => log.push(`${String(clock.monotonic())} ${item}`),
  })
  return { clock, work, log, looks: () => ({ looks, vain }) }
}

it('while retries hold their half of the places and nothing is new, nobody asks for new ones', async () => {
  const { clock, work, looks } = world()
  for (let n = 0; n < 20; n++) await work.offer(`never ${String(n)}`)
  await clock.advance(60_000)
  const { looks: all, vain } = looks()
  expect(all).toBeGreaterThan(200)
  expect(vain).toBeLessThan(all / 100)
})

it('one that is appended meanwhile goes out at once all the same', async () => {
  const { clock, work, log } = world()
  for (let n = 0; n < 20; n++) await work.offer(`never ${String(n)}`)
  await clock.advance(10_050)
  for (const item of ['a', 'b']) await work.offer(item)
  await clock.advance(100)
  expect(log).toEqual(['10150 a', '10150 b'])
})

it('one that waited for another with its key goes out when that has ended', async () => {
  const { clock, work, log } = world((outbox) =>
    ordered(outbox, {
      keyOf: (item) => (item.startsWith('never') ? undefined : 'key'),
      defect: () => undefined,
    }),
  )
  for (let n = 0; n < 20; n++) await work.offer(`never ${String(n)}`)
  await clock.advance(10_050)
  for (const item of ['a', 'b', 'c']) await work.offer(item)
  await clock.advance(300)
  expect(log).toEqual(['10150 a', '10250 b', '10350 c'])
})
