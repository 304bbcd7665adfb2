import { right } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { memoryOutbox } from '../../../src/outbox/memoryOutbox.ts'
import { relay } from '../../../src/outbox/relay.ts'
import { standard } from '../../../src/policy/retryPolicy.ts'
import type { Entry } from '../../../src/outbox/outbox.ts'
import { scriptedSink } from '../../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../../src/testing/virtualClock.ts'

/** A store that says that something is due, and answers its first `take`s, 100 ms later, with nothing. */
const world = (empty: number) => {
  const clock = virtualClock()
  const log: string[] = []
  const outbox = memoryOutbox<string>()
  let asked = 0
  const work = relay<string>({
    sink: scriptedSink<string>({ clock, reply: () => ({ verdict: right({ sink: 's' }) }) }),
    outbox: {
      ...outbox,
      take: (...args) =>
        new Promise<ReadonlyArray<Entry<string>>>((resolve) => {
          const nothing = ++asked <= empty
          clock.schedule(100, () => {
            resolve(nothing ? [] : outbox.take(...args))
          })
        }),
    },
    retry: standard,
    clock,
    random: () => 0,
    maxInFlight: 10,
    ended: ({ _tag, item }) => log.push(`${_tag} ${item}`),
  })
  return { clock, log, work, asked: () => asked }
}

it('a store that answers later, with nothing, is asked again after a second', async () => {
  const { clock, log, work, asked } = world(3)
  await work.offer('a')
  await clock.advance(3_000)
  expect([log, asked()]).toEqual([[], 3])
  await clock.advance(1_000)
  expect(log).toEqual(['Delivered a'])
  await clock.runAll()
  expect([clock.pending(), asked()]).toEqual([0, 4])
})

it('what is offered meanwhile is asked for at once', async () => {
  const { clock, log, work } = world(1)
  await work.offer('a')
  await clock.advance(50)
  await work.offer('b')
  await clock.advance(150)
  expect(log).toEqual(['Delivered a', 'Delivered b'])
})
