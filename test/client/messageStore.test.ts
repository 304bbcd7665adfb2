/** A client over an outbox of the host: what it stores, and what happens while the store is slow, full or failing. */
import { isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { type Message, messageCodec } from '../../src/client/message.ts'
import { bodyOf } from '../../src/event/payload.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { sharedStore } from '../support/sharedStore.ts'
import { busy, event, open, yes } from './virtual.ts'

/** As a store on a disk: a close hands nothing back. */
const durable = (): Outbox<Message> => ({
  ...memoryOutbox<Message>(),
  durable: true,
  takeRemaining: () => [],
})

/** A durable outbox whose `enqueue` fails while `isFailing` says so. */
const failing = (isFailing: () => boolean): Outbox<Message> => {
  const inner = durable()
  return {
    ...inner,
    enqueue: (items) => {
      if (isFailing()) throw new Error('the disk is full')
      return inner.enqueue(items)
    },
  }
}

const never = (): Promise<never> => new Promise(() => undefined)

describe('a client over an outbox of the host', () => {
  it('H7: logs and rejects what is no message, and sends the rest', async () => {
    const outbox = memoryOutbox<Message>()
    await outbox.enqueue([undefined, 7, { text: 'no size' }] as never)
    const { client, ended, defects } = open({ outbox })
    client.track(event('a'))
    expect(await client.flush()).toMatchObject({ accepted: 4, delivered: 1, rejected: 3, waiting: 0 })
    expect(ended()).toEqual(['Delivered a'])
    expect(defects()).toHaveLength(3)
    expect(outbox.stats()).toMatchObject({ waiting: 0, dead: 3 })
  })

  it('H7: what is no entry costs its place in a lease alone', async () => {
    const outbox = memoryOutbox<Message>()
    let isFirst = true
    const lease: Outbox<Message>['lease'] = (now, limits) => {
      if (!isFirst) return outbox.lease(now, limits)
      isFirst = false
      const entries = outbox.lease(now, { ...limits, count: limits.count - 1 })
      return [null, ...(entries as ReadonlyArray<unknown>)] as never
    }
    const { client, defects, clock } = open({ outbox: { ...outbox, lease }, size: 3 })
    for (const id of ['a', 'b', 'c', 'd', 'e']) client.track(event(id))
    const flushed = client.flush()
    await clock.advance(10_000)
    expect(await flushed).toMatchObject({ accepted: 5, delivered: 5, waiting: 0 })
    expect(defects()).toHaveLength(1)
  })

  it.each([[[null]], [undefined], [7]])(
    'H7: an outbox that leases %j costs a pause, at once and later',
    async (leased) => {
      for (const isLater of [false, true]) {
        const outbox = memoryOutbox<Message>()
        let isFirst = true
        const lease: Outbox<Message>['lease'] = (now, limits) => {
          if (!isFirst) return outbox.lease(now, limits)
          isFirst = false
          return (isLater ? Promise.resolve(leased) : leased) as never
        }
        const { client, ended, defects, clock } = open({ outbox: { ...outbox, lease } })
        client.track(event('a'))
        const flushed = client.flush()
        await clock.advance(10_000)
        expect(await flushed).toMatchObject({ delivered: 1, waiting: 0 })
        expect([ended(), defects().length]).toEqual([['Delivered a'], 1])
      }
    },
  )

  it('leaves what has not ended in a durable outbox, and the next client delivers it', async () => {
    const outbox = durable()
    const before = open({ outbox, size: 2 }, () => ({ verdict: busy }))
    for (const id of ['a', 'b', 'c']) before.client.track(event(id))
    await before.clock.settle()
    const { totals, abandoned } = await before.client.close({ timeout: 0 })
    expect([abandoned, before.ended()]).toEqual([[], []])
    expect(totals).toMatchObject({ accepted: 3, waiting: 3 })
    expect(before.clock.pending()).toBe(0)

    const after = open({ outbox })
    expect(after.client.stats()).toMatchObject({ accepted: 3, waiting: 3 })
    after.client.track(event('d'))
    await after.clock.advance(60_000)
    expect(after.ended()).toEqual(['Delivered a', 'Delivered b', 'Delivered c', 'Delivered d'])
    expect(after.client.stats()).toMatchObject({ accepted: 4, delivered: 4, waiting: 0 })
  })

  it('keeps the order across a restart: later messages wait behind a stored retry', async () => {
    let text = () => ''
    const before = open(
      (clock) => {
        const store = sharedStore<Message>(clock)
        text = () => store.text()
        return { outbox: store.open().outbox, size: 2 }
      },
      () => ({ verdict: busy }),
    )
    for (const id of ['a', 'b']) before.client.track(event(id))
    await before.clock.settle()
    await before.client.close({ timeout: 0 })

    const after = open((clock) => ({
      outbox: sharedStore<Message>(clock, { from: text() }).open().outbox,
      size: 1,
    }))
    after.client.track(event('c'))
    await after.clock.advance(60_000)
    expect(after.requests()).toEqual(['1000 a', '1000 b', '1000 c'])
    const [sent] = after.sink.calls.map(({ item }) => bodyOf(item, 0))
    expect(sent).toMatch(/^\{"batch":\[\{.*"messageId":"a".*\}\],"sentAt":"1970-01-01T00:00:00.000Z"\}$/)
  })

  it('stores the messages of one turn in one list', async () => {
    const lists: number[] = []
    const inner = memoryOutbox<Message>()
    const outbox: Outbox<Message> = {
      ...inner,
      enqueue: (items) => {
        lists.push(items.length)
        return inner.enqueue(items)
      },
    }
    const { client, clock } = open({ outbox })
    for (const id of ['a', 'b', 'c']) client.track(event(id))
    await clock.settle()
    expect(lists).toEqual([3])
  })

  it('answers Full at the bounds of the outbox', async () => {
    const { client, clock } = open({ outbox: memoryOutbox<Message>({ maxCount: 2 }) }, () => ({}))
    const answers = ['a', 'b', 'c'].map((id) => client.track(event(id)))
    expect(answers.map(isRight)).toEqual([true, true, false])
    expect(client.stats().refusedBy.Full).toBe(1)
    await clock.settle()
  })

  it('gives plain data: JSON and structuredClone leave it as it is', async () => {
    const given: Message[] = []
    const inner = memoryOutbox<Message>()
    const outbox: Outbox<Message> = {
      ...inner,
      enqueue: (items) => {
        given.push(...items)
        return inner.enqueue(items)
      },
    }
    const { client, clock } = open({ outbox, size: 2 })
    for (const id of ['a', 'b', '\u0000', '\ud800"']) client.track(event(id))
    await clock.settle()
    expect(given).toHaveLength(4)
    expect(JSON.parse(JSON.stringify(given))).toStrictEqual(given)
    expect(structuredClone(given)).toStrictEqual(given)
    expect(given.map((message) => messageCodec.fromText(messageCodec.toText(message)))).toEqual(given)
  })
})

describe('while the store fails', () => {
  it('sends from memory in order, without time passing, and reports the failure', async () => {
    const { client, clock, requests, ended, defects } = open({ outbox: failing(() => true), size: 2 })
    for (const id of ['a', 'b', 'c', 'd']) expect(isRight(client.track(event(id)))).toBe(true)
    await clock.settle()
    expect(requests()).toEqual(['0 a,b', '0 c,d'])
    expect(ended()).toEqual(['a', 'b', 'c', 'd'].map((id) => `Delivered ${id}`))
    expect(defects()).toEqual(['outbox'])
    expect(client.stats()).toMatchObject({ notPersisted: 0, bytes: 0 })
    await client.close()
    expect(clock.pending()).toBe(0)
  })

  it('retries from memory, and keeps the order when the store works again', async () => {
    let isFailing = true
    const { client, clock, requests } = open(
      { outbox: failing(() => isFailing), size: 2 },
      (_batch, number) => ({ verdict: number < 3 ? busy : yes }),
    )
    client.track(event('a'))
    client.track(event('b'))
    await clock.advance(500)
    isFailing = false
    client.track(event('c'))
    await clock.advance(60_000)
    expect(requests()).toEqual(['0 a,b', '1000 a,b', '3000 a,b', '8000 c', '9000 c', '11000 c'])
  })

  it('stores what waits when the store works again', async () => {
    let isFailing = true
    const { client, clock } = open({ outbox: failing(() => isFailing), flushAfter: Infinity })
    client.track(event('a'))
    await clock.advance(100)
    expect(client.stats().notPersisted).toBe(1)
    const persisted = client.persisted()
    isFailing = false
    await clock.advance(1_000)
    expect(await persisted).toBe(true)
    expect(client.stats()).toMatchObject({ notPersisted: 0, waiting: 1 })
  })

  it('closes in time if the store never answers, and hands the messages back', async () => {
    const outbox: Outbox<Message> = { ...memoryOutbox<Message>(), enqueue: never }
    const { client, clock, ended } = open({ outbox, size: 1, timeout: 100 })
    client.track(event('a'))
    client.track(event('b'))
    const closing = client.close({ timeout: 50 })
    await clock.advance(1_000)
    expect((await closing).abandoned.map(({ id }) => id)).toEqual(['a', 'b'])
    expect(ended()).toEqual(['Abandoned a', 'Abandoned b'])
    expect(clock.pending()).toBe(0)
  })
})

describe('persisted', () =>
  it('is false without a durable outbox, at its timeout and at the close', async () => {
    expect(await open().client.persisted()).toBe(false)
    const { client, clock } = open({ outbox: { ...durable(), enqueue: never }, timeout: 10 })
    client.track(event('a'))
    const timedOut = client.persisted({ timeout: 50 })
    const closed = client.persisted()
    await clock.advance(50)
    expect(await timedOut).toBe(false)
    const closing = client.close({ timeout: 0 })
    await clock.advance(100)
    await closing
    expect(await closed).toBe(false)
  }))
