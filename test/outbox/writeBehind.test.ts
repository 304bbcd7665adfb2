/** A client over an outbox of the host: what it stores, and what happens while the store is slow, full or failing. */
import { isRight, left } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { storedMessages, type Message } from '../../src/client/message.ts'
import { retryable, bodyOf } from '../../src/index.ts'
import { memoryOutbox, type Outbox } from '../../src/outbox/index.ts'
import { exponential } from '../../src/policy/index.ts'
import { relay } from '../../src/outbox/relay.ts'
import { one } from '../../src/outbox/take.ts'
import { scriptedSink, virtualClock } from '../../src/testing/index.ts'
import { sharedStore } from '../support/sharedStore.ts'
import { busy, event, open, turn, yes } from '../client/virtual.ts'

/** As a store on a disk: a close hands nothing back. */
const durable = (
  change: (inner: Outbox<Message>) => Partial<Outbox<Message>> = () => ({}),
): Outbox<Message> => {
  const inner = memoryOutbox<Message>()
  return { ...inner, keeps: () => true, takeRemaining: () => [], ...change(inner) }
}

/** A durable outbox whose `enqueue` fails while `isFailing` says so. */
const failing = (isFailing: () => boolean): Outbox<Message> =>
  durable((inner) => ({
    enqueue: (items) => {
      if (isFailing()) throw new Error('the disk is full')
      return inner.enqueue(items)
    },
  }))

const never = (): Promise<never> => new Promise(() => undefined)

describe('a client over an outbox of the host', () => {
  it('H7: logs and rejects what is no message, and sends the rest', async () => {
    const outbox = memoryOutbox<Message>()
    await outbox.enqueue([undefined, 7, { text: 'no size' }] as never)
    const { client, ended, told } = open({ outbox })
    client.track(event('a'))
    expect(await client.flush()).toMatchObject({ accepted: 4, delivered: 1, rejected: 3, waiting: 0 })
    expect(ended()).toEqual(['Delivered a'])
    expect(told.filter(({ _tag, from }) => _tag === 'Corrupt' && from === 'client')).toHaveLength(3)
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

  it('gives plain data: JSON and structuredClone leave it is', async () => {
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
    expect(given.map((message) => storedMessages.fromText(storedMessages.toText(message)))).toEqual(given)
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

describe('at a close', () => {
  it('every entry that the store does not keep ends as Abandoned, in flight or not', async () => {
    let isFailing = false
    const outbox = failing(() => isFailing)
    // Two requests hang: one with stored messages, one with messages that are in memory.
    const world = open({ outbox, size: 2, concurrency: 2, timeout: 1_000_000 }, () => ({}))
    world.client.track(event('kept 1'))
    world.client.track(event('kept 2'))
    await world.clock.settle()
    isFailing = true
    for (const id of ['cut 1', 'cut 2', 'waits 1', 'waits 2', 'waits 3']) world.client.track(event(id))
    await world.clock.settle()
    expect(world.requests()).toEqual(['0 kept 1,kept 2', '0 cut 1,cut 2'])
    const closing = world.client.close({ timeout: 0 })
    await world.clock.advance(1_000_000)
    const { totals, abandoned } = await closing
    expect(abandoned.map(({ id }) => id)).toEqual(['cut 1', 'cut 2', 'waits 1', 'waits 2', 'waits 3'])
    expect(world.ended()).toEqual(abandoned.map(({ id }) => `Abandoned ${id}`))
    expect(totals).toMatchObject({ accepted: 7, abandoned: 5, waiting: 2 })
    expect(world.clock.pending()).toBe(0)
  })

  it('hands back the forming batch', async () => {
    const world = open({ size: 3, maxBatchBytes: 33_000 })
    world.client.track(event('a'))
    world.client.track(event('b'))
    world.clock.tick(1)
    const { totals } = await world.client.close({ timeout: 0 })
    expect(totals).toMatchObject({ accepted: 2, delivered: 2, abandoned: 0 })
  })
})

describe('a store that fails for a while', () =>
  it('gets what the forming batch holds', async () => {
    let isFailing = true
    const stored: string[] = []
    const outbox = durable((inner) => ({
      enqueue: (items) => {
        if (isFailing) throw new Error('the disk is full')
        stored.push(...items.map(({ id }) => id))
        return inner.enqueue(items)
      },
    }))
    const world = open({ outbox, size: 20, flushAfter: 60_000 })
    for (const id of ['a', 'b', 'c']) world.client.track(event(id))
    const persisted = world.client.persisted()
    await world.clock.advance(100)
    isFailing = false
    await world.clock.advance(1_000)
    expect(await persisted).toBe(true)
    expect(stored).toEqual(['a', 'b', 'c'])
    world.client.track(event('d'))
    await world.clock.advance(60_000)
    expect(world.requests()).toEqual(['60000 a,b,c,d'])
  }))

describe('a Retry-After', () =>
  it('stops leasing: what waits is neither leased nor put back until then', async () => {
    const calls: string[] = []
    const outbox = durable((inner) => ({
      lease: (...args) => {
        calls.push('lease')
        return inner.lease(...args)
      },
      nack: (list) => {
        calls.push(`nack ${String(list.length)}`)
        return inner.nack(list)
      },
    }))
    const world = open({ outbox, size: 2 }, (_batch, number) => {
      const notBefore = world.clock.now() + 10_000
      return number < 2 ? { verdict: left(retryable('status', { status: 429, notBefore })) } : {}
    })
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) world.client.track(event(id))
    await world.clock.advance(9_999)
    expect(calls).toEqual(['lease', 'nack 2'])
    expect(world.requests()).toEqual(['0 a,b'])
  }))

describe('a batch that fails', () =>
  it('draws one random number', async () => {
    let drawn = 0
    const random = (): number => ++drawn / 10
    const world = open({ size: 3, random, retry: exponential() }, () => ({ verdict: busy }))
    for (const id of ['a', 'b', 'c']) world.client.track(event(id))
    await turn()
    expect([world.requests(), drawn]).toEqual([['0 a,b,c'], 1])
  }))

describe('a lease that is answered after an abort began', () =>
  it('is handed back with the rest', async () => {
    const clock = virtualClock()
    const inner = memoryOutbox<string>()
    const lease: Outbox<string>['lease'] = (...args) =>
      new Promise((resolve) => {
        clock.schedule(100, () => resolve(inner.lease(...args)))
      })
    const sink = scriptedSink<string>({ clock, reply: () => ({ verdict: yes }) })
    const work = relay<string>({
      ...{ sink, clock, outbox: { ...inner, lease }, retry: exponential(), random: () => 0 },
      ...{ shape: one<string>(10), ended: () => undefined },
    })
    void work.offer('a')
    await clock.advance(50)
    let rest: ReadonlyArray<string> = []
    work.abort((unfinished) => {
      rest = unfinished
    })
    await clock.advance(1_000)
    expect([rest, work.totals()]).toMatchObject([['a'], { accepted: 1, abandoned: 1, waiting: 0 }])
    expect(clock.pending()).toBe(0)
  }))
