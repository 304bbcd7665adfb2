/** How often a relay calls its outbox, and how often that calls a store behind group commits. */
import { right } from 'fp-ts/lib/Either.js'
import { from, lastValueFrom } from 'rxjs'
import { expect, it } from 'vitest'
import type { Message } from '../../src/client/message.ts'
import { memoryOutbox, type Outbox } from '../../src/outbox/index.ts'
import { standard } from '../../src/policy/index.ts'
import * as root from '../../src/index.ts'
import { batched } from '../../src/outbox/batched.ts'
import { relay } from '../../src/outbox/relay.ts'
import { one } from '../../src/outbox/take.ts'
import { scriptedSink, virtualClock, type VirtualClock } from '../../src/testing/index.ts'
import { event, open } from '../client/virtual.ts'

const yes: root.Verdict = right({ sink: 'scripted' })

/** An outbox over a store that takes 1 ms for a call, as that of a server: each kind of call is one list at a time. */
const overServer = <A>(inner: Outbox<A>, clock: VirtualClock, called: () => void): Outbox<A> => {
  const kind = <T, B>(call: (list: ReadonlyArray<T>) => ReadonlyArray<B>) =>
    batched<ReadonlyArray<T>, ReadonlyArray<B>>((take) => {
      called()
      return new Promise((resolve) => clock.schedule(1, () => resolve(take().map((list) => call(list)))))
    })
  // The outbox in memory answers at once.
  const enqueue = kind(inner.enqueue as (items: ReadonlyArray<A>) => ReadonlyArray<never>)
  const ack = kind((list: Parameters<Outbox<A>['ack']>[0]) => [inner.ack(list)])
  const lease = kind(([given]: ReadonlyArray<Parameters<Outbox<A>['lease']>>) =>
    given === undefined ? [] : (inner.lease(...given) as ReadonlyArray<never>),
  )
  return {
    ...inner,
    enqueue: (items) => enqueue.ask(items, items.length),
    ack: (list) => ack.ask(list, list.length).then(() => undefined),
    lease: (...given) => lease.ask([given]),
  }
}

it('TP9: a store of 1 ms serves 1,000 callers with 0.05 calls an event and 10,000 events a second', async () => {
  const clock = virtualClock()
  const events = 20_000
  let calls = 0
  let ended = 0
  const outbox = overServer(memoryOutbox<number>(), clock, () => calls++)
  const sink = scriptedSink<number>({ clock, reply: () => ({ verdict: yes, after: 1 }) })
  const work = relay<number>({
    ...{ sink, outbox, clock, random: () => 0, retry: standard, shape: one<number>(1_000) },
    ended: () => ended++,
  })
  const caller = async (): Promise<void> => {
    for (let sent = 0; sent < events / 1_000; sent++) await work.offer(sent)
  }
  await clock.run(Promise.all(Array.from({ length: 1_000 }, caller)))
  while (ended < events) await clock.advance(1)
  expect(calls / events).toBeLessThanOrEqual(0.05)
  expect(events / (clock.monotonic() / 1_000)).toBeGreaterThanOrEqual(10_000)
})

it('a client asks its outbox with one list for a turn, for each batch one lease at most and one list of acks', async () => {
  const calls = { enqueue: 0, lease: 0, ack: 0, nack: 0 }
  const inner = memoryOutbox<Message>()
  const counting =
    <T extends unknown[], R>(name: keyof typeof calls, call: (...given: T) => R) =>
    (...given: T): R => (calls[name]++, call(...given))
  const { client, clock } = open({
    outbox: {
      ...inner,
      enqueue: counting('enqueue', inner.enqueue),
      lease: counting('lease', inner.lease),
      ack: counting('ack', inner.ack),
      nack: counting('nack', inner.nack),
    },
  })
  for (let sent = 0; sent < 1_000; sent++) client.track(event(String(sent)))
  await clock.advance(10)
  expect(client.stats()).toMatchObject({ delivered: 1_000, batches: 50 })
  expect(calls).toEqual({ enqueue: 1, lease: 50, ack: 50, nack: 0 })
})

it('by the clock of the machine the results of a turn are one list, each from its own microtask', async () => {
  const inner = memoryOutbox<number>()
  const lists: number[] = []
  const ack: typeof inner.ack = async (list) => {
    lists.push(list.length)
    await inner.ack(list)
  }
  const answers = root.sink<number>('answers', () => new Promise((resolve) => setImmediate(resolve)))
  const outbox = { ...inner, ack }
  const delivered = from([1, 2, 3, 4, 5].map((n) => right(n))).pipe(root.deliver(answers, { outbox }))
  await lastValueFrom(delivered, { defaultValue: undefined })
  expect(lists).toEqual([1, 4])
})

it('a store that answers later gets the results of a turn as one list, and halves of a list that failed', async () => {
  const clock = virtualClock()
  const inner = memoryOutbox<number>()
  const lists: Array<ReadonlyArray<number>> = []
  const ended: number[] = []
  const outbox: Outbox<number> = {
    ...inner,
    ack: async (list) => {
      const items = list.map(({ entry }) => entry.item)
      lists.push(items)
      if (items.includes(4)) throw new Error('it never takes 4')
      await inner.ack(list)
    },
  }
  const sink = scriptedSink<number>({ clock, reply: () => ({ verdict: yes }) })
  const work = relay<number>({
    ...{ sink, outbox, clock, random: () => 0, retry: standard, shape: one<number>(10) },
    ended: ({ item }) => ended.push(item),
  })
  for (let item = 0; item < 6; item++) void work.offer(item)
  await clock.advance(0)
  expect(lists).toEqual([[0], [1, 2, 3, 4, 5]])
  await clock.advance(3_000)
  expect([lists.slice(2), ended]).toEqual([
    [[1, 2, 3], [4, 5], [4], [5], [4]],
    [0, 1, 2, 3, 5],
  ])
})
