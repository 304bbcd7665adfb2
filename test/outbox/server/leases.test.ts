import { describe, expect, expectTypeOf, it } from 'vitest'
import { webhookDestination } from '../../../src/destination/createDestination.ts'
import type { Event } from '../../../src/event/event.ts'
import type { Payload } from '../../../src/event/payload.ts'
import { retryable } from '../../../src/core/failure.ts'
import { delivered } from '../../../src/core/outcome.ts'
import type { Outbox } from '../../../src/outbox/outbox.ts'
import { virtualClock } from '../../../src/testing/virtualClock.ts'
import { server } from './Server.ts'
import { tableOutbox } from './tableOutbox.ts'
import type { TableOutbox } from './tableOutbox.ts'
import { begin } from './Transaction.ts'
import { wire } from './wire.ts'

const LEASE = 1_000

/** Two processes on one table, and the first can be cut off. */
const two = <A = string>(options: { readonly maxCount?: number } = {}) => {
  const clock = virtualClock()
  const on = server<A>({ clock, ...options })
  const open = (name: string) => {
    const over = wire({ clock, latency: 1 })
    return { over, outbox: tableOutbox({ on, over, name, lease: LEASE }) }
  }
  const [first, second] = [open('first'), open('second')]
  const done = async <T>(answer: T | PromiseLike<T>): Promise<T> => {
    const promise = Promise.resolve(answer)
    await clock.advance(2)
    return promise
  }
  return { clock, on, first, second, done }
}

describe('a lease', () => {
  it('is renewed for as long as an entry is held, and by nobody afterwards', async () => {
    const { clock, first, second, done } = two()
    await done(first.outbox.append('a'))
    const [entry] = await done(first.outbox.take(0, 1, 0))
    await clock.advance(10 * LEASE)
    expect(await done(second.outbox.take(0, 1, 0))).toEqual([])
    if (entry !== undefined) await done(first.outbox.end(entry, delivered('a', 1, { sink: 's' })))
    await clock.advance(LEASE)
    expect([clock.pending(), second.outbox.stats().waiting]).toEqual([0, 1])
    await done(second.outbox.take(0, 1, 0))
    expect(second.outbox.stats().waiting).toBe(0)
  })

  it.each(['park', 'end'] as const)('that was lost lets a late %s change nothing', async (late) => {
    const { clock, on, first, second, done } = two()
    await done(first.outbox.append('a'))
    const [mine] = await done(first.outbox.take(0, 1, 0))
    first.over.down()
    await clock.advance(2 * LEASE)
    const [theirs] = await done(second.outbox.take(0, 1, 0))
    expect([mine?.id, theirs?.id]).toEqual(['first 1', 'first 1'])
    first.over.up()
    await clock.advance(10)
    const before = on.rows.get('first 1')?.lease?.token
    const news: unknown[] = []
    first.outbox.watch?.((what) => news.push(what))
    const progress = { attempts: 7, lastFailure: retryable('busy') }
    if (mine !== undefined)
      await done(
        late === 'park'
          ? first.outbox.park({ ...mine, progress }, 99)
          : first.outbox.end(mine, delivered('a', 1, { sink: 's' })),
      )
    expect(on.rows.get('first 1')).toMatchObject({ owner: 'second', entry: { progress: undefined } })
    expect(on.rows.get('first 1')?.lease?.token).toBe(before)
    // What was parked late is another's now; what was ended late has been counted where it ended.
    expect(news).toEqual(late === 'park' ? [{ gone: 1 }, undefined] : [undefined])
  })
})

describe('an append that takes more than the item', () => {
  it('is an Outbox all the same', () => {
    expectTypeOf<TableOutbox<string>>().toExtend<Outbox<string>>()
    const relayed: Outbox<string>['append'] = two().first.outbox.append
    expect(relayed).toBeTypeOf('function')
  })

  it('is no Outbox when the relay would have to give more', () => {
    type Demanding = Omit<TableOutbox<string>, 'append'> & {
      readonly append: (item: string, within: object) => ReturnType<Outbox<string>['append']>
    }
    expectTypeOf<Demanding>().not.toExtend<Outbox<string>>()
  })

  it('is there when the transaction of the host is committed, and not before', async () => {
    const { first, second, done } = two()
    const within = begin()
    await done(first.outbox.append('a', { within }))
    expect(await done(second.outbox.take(0, 1, 0))).toEqual([])
    within.commit()
    expect(await done(second.outbox.take(0, 1, 0))).toMatchObject([{ item: 'a' }])
  })
})

describe('a destination', () => {
  it('lets in who waits for room, when another process has made it', async () => {
    const { clock, first, second, done } = two<Payload<Event>>({ maxCount: 1 })
    const open = (outbox: Outbox<Payload<Event>>) =>
      webhookDestination({ webhooks: [{ url: 'http://127.0.0.1:9/' }] }, { outbox, clock, logger: false })
    const call = { type: 'track', userId: 'u1', event: 'Sold' } as const
    // The other process has all that waits, and is at it; this one hears of that when it is turned away.
    const other = open({ ...second.outbox, take: () => [], nextDue: () => undefined })
    await done(other.send(call))
    const [entry] = await done(second.outbox.take(0, 1, 0))
    const destination = open(first.outbox)
    expect(await done(destination.send(call))).toMatchObject({ _tag: 'Left', left: { _tag: 'Full' } })
    let isIn = false
    void destination.ready().then(() => (isIn = true))
    await clock.advance(10)
    expect(isIn).toBe(false)
    if (entry !== undefined) await done(second.outbox.end(entry, delivered(entry.item, 1, { sink: 's' })))
    await clock.advance(10)
    expect(isIn).toBe(true)
  })
})
