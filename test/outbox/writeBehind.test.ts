/** A client over an outbox of the host: what it stores, and what happens while the store is slow, full or failing. */
import { isRight, left } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { storedMessages, type Message } from '../../src/client/message.ts'
import { retryable, bodyOf } from '../../src/index.ts'
import { memoryOutbox, type Outbox } from '../../src/outbox/index.ts'
import type { VirtualClock } from '../../src/testing/index.ts'
import { sharedStore } from '../support/sharedStore.ts'
import { busy, event, many, open, turn, yes, type World } from '../client/virtual.ts'

/** As a store on a disk: a close hands nothing back. */
const durable = (
  over: (all: Outbox<Message>) => Partial<Outbox<Message>> = () => ({}),
  maxCount = 10_000,
): Outbox<Message> => {
  const inner = memoryOutbox<Message>({ maxCount })
  return { ...inner, keeps: () => true, takeRemaining: () => [], ...over(inner) }
}

/** A durable outbox whose `enqueue` fails while `isFailing` says so; `stored` hears of each list. */
const failing = (isFailing: () => boolean, stored?: (items: ReadonlyArray<Message>) => void) =>
  durable((inner) => ({
    enqueue: (items) => {
      if (isFailing()) throw new Error('the disk is full')
      stored?.(items)
      return inner.enqueue(items)
    },
  }))

const track = ({ client }: World, ...ids: ReadonlyArray<string>) => ids.map((id) => client.track(event(id)))

describe('a client over an outbox of the host', () => {
  it('H7: logs and rejects what is no message, and sends the rest', async () => {
    const outbox = memoryOutbox<Message>()
    await outbox.enqueue([undefined, 7, { text: 'no size' }] as never)
    const { client, ended } = open({ outbox: { ...outbox, ack: async (list) => outbox.ack(list) } })
    const rest: unknown[] = []
    client.events$.subscribe(({ _tag }) => _tag === 'Corrupt' && rest.push(client.stats().waiting))
    await client.flush().then(() => client.track(event('a')))
    expect(await client.flush()).toMatchObject({ accepted: 4, delivered: 1, rejected: 3, waiting: 0 })
    expect([...ended(), ...rest]).toEqual(['Delivered a', 2, 1, 0])
    expect(outbox.stats()).toMatchObject({ waiting: 0, dead: 3 })
  })

  it('sends from memory while each call of its store fails, and from the store when it is back', async () => {
    let isDown = true
    const downOr = <T>(ask: () => T) => (isDown ? Promise.reject(new Error('down')) : ask())
    const outbox = durable(({ enqueue, lease }) => ({
      enqueue: (items) => downOr(() => enqueue(items)),
      lease: (now, limits) => downOr(() => lease(now, limits)),
      nextDue: (retriesOnly) => (retriesOnly ? undefined : 0),
    }))
    const world = open({ outbox, size: 1 })
    for (const id of many(100)) {
      track(world, id)
      await turn().then(() => track(world, `${id} later`))
      await world.clock.advance(10)
    }
    expect(world.ended()).toEqual(many(100).flatMap((id) => [`Delivered ${id}`, `Delivered ${id} later`]))
    isDown = false
    track(world, 'c')
    await world.clock.advance(2_000)
    expect(world.ended().at(-1)).toBe('Delivered c')
  })

  it('leaves what has not ended in a durable outbox, and the next client delivers it first', async () => {
    let text = () => ''
    const stored = (clock: VirtualClock, from?: string) => {
      const store = sharedStore<Message>(clock, { from })
      text = store.text
      const { watch: _, ...outbox } = store.open().outbox
      return outbox
    }
    const before = open(
      (clock) => ({ outbox: stored(clock), size: 2 }),
      () => ({ verdict: busy }),
    )
    track(before, 'a', 'b', 'c')
    await before.clock.settle()
    const { totals, abandoned } = await before.client.close({ timeout: 0 })
    expect([abandoned, before.ended(), before.clock.pending()]).toEqual([[], [], 0])
    expect(totals).toMatchObject({ accepted: 3, waiting: 3 })
    const waits: Array<Promise<unknown>> = []
    const waitUntil = (ended: Promise<unknown>) => waits.push(ended)
    const after = open((clock) => ({ outbox: stored(clock, text()), size: 1, waitUntil }))
    expect([after.client.stats(), waits.length]).toMatchObject([{ accepted: 3, waiting: 3 }, 1])
    track(after, 'd')
    await after.clock.advance(60_000)
    expect(after.requests()).toEqual(['1000 a', '1000 b', '1000 c', '1000 d'])
    expect(after.client.stats()).toMatchObject({ accepted: 4, delivered: 4, waiting: 0 })
    const [sent] = after.sink.calls.map(({ item }) => bodyOf(item, 0))
    expect(sent).toMatch(/^\{"batch":\[\{.*"messageId":"a".*\}\],"sentAt":"1970-01-01T00:00:00.000Z"\}$/)
  })

  it('delivers what another process adds to their store, past its retries, and flushes both', async () => {
    const [a, b] = ['a', 'b'].map((id) => storedMessages.fromText(`{"type":"page","messageId":"${id}"}`))
    let other = memoryOutbox<Message>()
    const options = (clock: VirtualClock) => {
      const store = sharedStore<Message>(clock)
      other = store.open().outbox
      return { outbox: store.open().outbox, flushAfter: 1_000 }
    }
    const { client, clock, ended } = open(options, () => ({ verdict: yes, after: 10 }))
    await clock.settle().then(() => other.enqueue([a as Message]))
    const leased = await other.lease(0, { count: 1, retries: 0 })
    await other.nack(leased.map((entry) => ({ entry, due: clock.now() + 60_000 })))
    await other.enqueue([b as Message])
    await clock.advance(1_010)
    expect(ended()).toEqual(['Delivered b'])
    await clock.run(client.flush())
    expect(ended()).toEqual(['Delivered b', 'Delivered a'])
  })

  it('answers Full at the bounds of the outbox; one in memory persists nothing', async () => {
    const world = open({ outbox: memoryOutbox<Message>({ maxCount: 2 }) }, () => ({}))
    expect(track(world, 'a', 'b', 'c').map(isRight)).toEqual([true, true, false])
    expect(world.client.stats().refusedBy.Full).toBe(1)
    expect(await world.client.persisted()).toBe(false)
  })

  it('gives plain data: JSON and structuredClone leave it is', async () => {
    const [given, never] = [new Array<Message>(), () => false]
    const world = open({ outbox: failing(never, (items) => given.push(...items)), size: 2 })
    track(world, 'a', 'b', '\u0000', '\ud800"')
    await world.clock.settle()
    expect(given).toHaveLength(4)
    expect(JSON.parse(JSON.stringify(given))).toStrictEqual(given)
    expect(structuredClone(given)).toStrictEqual(given)
    expect(given.map((message) => storedMessages.fromText(storedMessages.toText(message)))).toEqual(given)
  })
})

describe('while the store fails', () => {
  it('sends from memory in order, without time passing, and reports the failure', async () => {
    const world = open({ outbox: failing(() => true), size: 2, maxCount: 4 })
    expect(track(world, 'a', 'b', 'c', 'd', 'e').map(isRight)).toEqual([true, true, true, true, false])
    await world.clock.settle()
    track(world, 'f', 'g')
    await world.clock.settle()
    expect(world.requests()).toEqual(['0 a,b', '0 c,d', '0 f,g'])
    expect(world.ended()).toEqual(['a', 'b', 'c', 'd', 'f', 'g'].map((id) => `Delivered ${id}`))
    expect(world.defects()).toEqual(['outbox'])
    expect(world.client.stats()).toMatchObject({ notPersisted: 0, bytes: 0 })
    await world.client.close()
    expect(world.clock.pending()).toBe(0)
  })

  it('retries from memory, and keeps the order when the store works again', async () => {
    let isFailing = true
    const outbox = failing(() => isFailing)
    const world = open({ outbox, size: 3 }, (_batch, number) => ({ verdict: number < 3 ? busy : yes }))
    track(world, 'a', 'b')
    void world.client.flush()
    await world.clock.advance(500)
    track(world, 'c')
    await world.clock.advance(1_000)
    isFailing = false
    await world.clock.advance(60_000)
    expect(world.requests()).toEqual(['0 a,b', '1000 a,b', '3000 a,b', '5000 c', '6000 c', '8000 c'])
  })

  it('stores what the forming batch holds when the store works again', async () => {
    let isFailing = true
    const stored: string[] = []
    const outbox = failing(
      () => isFailing,
      (items) => stored.push(...items.map(({ id }) => id)),
    )
    const world = open({ outbox, size: 2, concurrency: 2, flushAfter: 60_000 })
    track(world, 'a', 'b', 'c')
    const persisted = world.client.persisted()
    await world.clock.advance(100)
    expect(world.client.stats().notPersisted).toBe(1)
    isFailing = false
    await world.clock.advance(1_000)
    expect([await persisted, stored]).toEqual([true, ['c']])
    expect(world.client.stats()).toMatchObject({ notPersisted: 0, waiting: 1 })
    track(world, 'd')
    await world.clock.advance(60_000)
    expect(world.requests()).toEqual(['0 a,b', '1100 c,d'])
  })

  it('leaves what the forming batch has of a store in that store', async () => {
    let isFailing = false
    const outbox = { ...failing(() => isFailing), keeps: () => false }
    const { client, clock, requests } = open({ outbox })
    client.track(event('a'))
    await clock.settle()
    isFailing = true
    client.track(event('b'))
    await client.dead.redrive(() => true)
    isFailing = false
    await clock.advance(60_000)
    expect([requests(), outbox.stats().waiting]).toEqual([['5000 a,b'], 0])
  })
})

it('persisted is false without a durable outbox, at its timeout, and at the close, which hands back', async () => {
  expect(await open().client.persisted()).toBe(false)
  const memory = memoryOutbox<Message>()
  // It has the message in spite of the error: it ends once.
  const enqueue: typeof memory.enqueue = (items) => {
    void memory.enqueue(items)
    throw new Error('planted')
  }
  let during = {}
  const takeRemaining = async () => {
    const remaining = memory.takeRemaining()
    during = client.stats()
    return remaining
  }
  const { client, clock } = open({ outbox: { ...memory, keeps: () => true, enqueue, takeRemaining } })
  client.track(event('a'))
  const timedOut = client.persisted({ timeout: 50 })
  const closed = client.persisted()
  await clock.advance(50)
  expect(await timedOut).toBe(false)
  const { abandoned } = await client.close({ timeout: 0 })
  expect([abandoned.map(({ id }) => id), await closed]).toEqual([['a'], false])
  expect(during).toMatchObject({ accepted: 1, abandoned: 0, waiting: 1 })
})

it('a close ends the waits for room and for the end, though a full durable outbox keeps its message', async () => {
  const waits: Array<Promise<unknown>> = []
  const waitUntil = (ended: Promise<unknown>) => waits.push(ended)
  const { client, clock } = open({ outbox: durable(undefined, 1), waitUntil }, () => ({ verdict: busy }))
  client.track(event('a'))
  let over = 0
  for (const wait of [client.ready(), ...waits]) void wait.then(() => over++)
  await clock.run(client.flush({ timeout: -1 }))
  expect([over, client.stats().waiting]).toEqual([0, 1])
  expect(await client.close({ timeout: 0 })).toMatchObject({ abandoned: [], totals: { waiting: 1 } })
  await clock.settle()
  expect(over).toBe(2)
})

it('every entry that the store does not keep ends as Abandoned at a close, in flight or not', async () => {
  let isFailing = false
  const outbox = failing(() => isFailing)
  // Two requests hang: one with stored messages, one with messages that are in memory. A third one fails.
  const world = open({ outbox, size: 2, concurrency: 3, timeout: 1_000_000 }, (_, __, at) =>
    at === 2 ? { verdict: busy } : {},
  )
  track(world, 'kept 1', 'kept 2')
  await world.clock.settle()
  isFailing = true
  track(world, 'cut 1', 'cut 2', 'fails 1', 'fails 2', 'waits')
  await world.clock.settle()
  expect(world.requests()).toEqual(['0 kept 1,kept 2', '0 cut 1,cut 2', '0 fails 1,fails 2'])
  const persisted = world.client.persisted()
  const closing = world.client.close({ timeout: 0 })
  await world.clock.advance(1_000_000)
  const { abandoned } = await closing
  expect(abandoned.map(({ id }) => id)).toEqual(['cut 1', 'cut 2', 'waits', 'fails 1', 'fails 2'])
  expect(world.ended()).toEqual(abandoned.map(({ id }) => `Abandoned ${id}`))
  expect(await persisted).toBe(false)
  const left = { accepted: 7, abandoned: 5, waiting: 2, notPersisted: 0, bytes: outbox.stats().bytes }
  // A cut attempt counts.
  expect(world.client.stats()).toMatchObject({ ...left, batches: 3, attempts: 3, requests: 3 })
  expect(world.clock.pending()).toBe(0)
})

it('a Retry-After stops leasing: what waits is neither leased nor put back until then', async () => {
  const calls: string[] = []
  const outbox = durable((inner) => ({
    lease: (...args) => (calls.push('lease'), inner.lease(...args)),
    nack: (list) => (calls.push(`nack ${String(list.length)}`), inner.nack(list)),
  }))
  const world = open({ outbox, size: 2 }, (_batch, number) => {
    const notBefore = world.clock.now() + 10_000
    return number < 2 ? { verdict: left(retryable('status', { status: 429, notBefore })) } : {}
  })
  track(world, 'a', 'b', 'c', 'd', 'e', 'f')
  await world.clock.advance(9_999)
  expect([calls, world.requests()]).toEqual([['lease', 'nack 2'], ['0 a,b']])
})
