import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { deliver } from '../../src/operators/deliver.ts'
import { retryable } from '../../src/core/failure.ts'
import type { Verdict } from '../../src/core/failure.ts'
import { closeRelay } from '../../src/outbox/close.ts'
import type { CloseResult } from '../../src/outbox/close.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import { relay } from '../../src/outbox/relay.ts'
import { exponential } from '../../src/policy/retryPolicy.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { scriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import type { VirtualClock } from '../../src/testing/virtualClock.ts'

type Operation = 'append' | 'take' | 'park' | 'end'

const yes: Verdict = right({ sink: 's' })
const busy: Verdict = left(retryable('status', { status: 503 }))

/** A store that forgets everything with the process, and takes 100 ms to do one of its operations. */
const slow = (clock: VirtualClock, operation: Operation): Outbox<string> => {
  const outbox = memoryOutbox<string>()
  return {
    ...outbox,
    [operation]: (...args: never[]) =>
      new Promise((resolve) => {
        clock.schedule(100, () => {
          // The operation is called with its own arguments.
          resolve((outbox[operation] as (...same: never[]) => unknown)(...args))
        })
      }),
  }
}

const world = (operation: Operation) => {
  const clock = virtualClock()
  const log: string[] = []
  const sink = scriptedSink<string>({
    clock,
    reply: (item, { number }) => ({ verdict: item === 'busy' || number === 0 ? busy : yes, after: 10 }),
  })
  const work = relay<string>({
    sink,
    outbox: slow(clock, operation),
    retry: exponential({ base: 60_000 }),
    clock,
    random: () => 0,
    maxInFlight: 2,
    ended: ({ _tag, item }) => log.push(`${_tag} ${item}`),
  })
  return { clock, log, sink, work }
}

const watch = <T>(promise: PromiseLike<T>): { done: T | undefined } => {
  const seen: { done: T | undefined } = { done: undefined }
  void promise.then((value) => (seen.done = value))
  return seen
}

describe('a close while the store is at work', () => {
  it('waits for an append, which was offered before, and delivers it', async () => {
    const { clock, log, work } = world('append')
    const answer = watch(Promise.resolve(work.offer('a')))
    const closing = watch<CloseResult<string>>(
      closeRelay(work, { clock, within: 30_000, lastAttempt: 5_000 }),
    )
    await clock.advance(30_000)
    expect(answer.done?._tag).toBe('Right')
    expect(log).toEqual(['Delivered a'])
    expect(closing.done).toMatchObject({ totals: { accepted: 1, delivered: 1, waiting: 0 } })
  })

  it('hands back what an append or a take brings after the time is up, and starts nothing', async () => {
    for (const operation of ['append', 'take'] as const) {
      const { clock, log, sink, work } = world(operation)
      void work.offer('a')
      const closing = watch<CloseResult<string>>(closeRelay(work, { clock, within: 50, lastAttempt: 5_000 }))
      await clock.advance(30_000)
      expect(sink.calls).toHaveLength(0)
      expect(log).toEqual(['Abandoned a'])
      expect(closing.done).toMatchObject({
        totals: { accepted: 1, abandoned: 1, waiting: 0 },
        abandoned: ['a'],
      })
      expect(clock.pending()).toBe(0)
    }
  })

  it('resolves even if the store never answers', async () => {
    const clock = virtualClock()
    const stuck: Outbox<string> = { ...memoryOutbox<string>(), end: () => new Promise(() => undefined) }
    const work = relay<string>({
      sink: scriptedSink<string>({ clock, reply: () => ({ verdict: yes }) }),
      outbox: stuck,
      retry: exponential(),
      clock,
      random: () => 0,
      maxInFlight: 2,
      ended: () => undefined,
    })
    void work.offer('a')
    const closing = watch<CloseResult<string>>(closeRelay(work, { clock, within: 1_000, lastAttempt: 5_000 }))
    await clock.advance(11_000)
    expect(closing.done).toMatchObject({ totals: { accepted: 1, waiting: 1 }, abandoned: [] })
    expect(clock.pending()).toBe(0)
  })
})

describe('a stop while the store is at work', () => {
  it.each([
    ['append', ['Abandoned a']],
    ['take', ['Abandoned a']],
    ['park', ['Abandoned busy']],
    ['end', ['Delivered a']],
  ] as const)('waits for the %s, and emits the outcome before it completes', async (operation, outcomes) => {
    const clock = virtualClock()
    const items = new Subject<Either<never, string>>()
    const stop = new Subject<void>()
    const seen: string[] = []
    const sink = scriptedSink<string>({
      clock,
      reply: (item) => ({ verdict: item === 'busy' ? busy : yes, after: 10 }),
    })
    items
      .pipe(
        deliver(sink, { clock, stop, outbox: slow(clock, operation), retry: exponential({ base: 60_000 }) }),
      )
      .subscribe({
        next: (ended) => seen.push('item' in ended ? `${ended._tag} ${ended.item}` : ended._tag),
        complete: () => seen.push('complete'),
      })
    items.next(right(operation === 'park' ? 'busy' : 'a'))
    await clock.advance(50)
    stop.next()
    await clock.advance(1_000)
    expect(seen).toEqual([...outcomes, 'complete'])
    expect([sink.running(), clock.pending()]).toEqual([0, 0])
  })
})

describe('a stop while the store fails', () => {
  it.each([
    ['park', 'Abandoned busy'],
    ['end', 'Delivered a'],
  ] as const)('a %s that is given up still has its outcome', async (operation, outcome) => {
    const clock = virtualClock()
    const items = new Subject<Either<never, string>>()
    const stop = new Subject<void>()
    const seen: string[] = []
    const failing: Outbox<string> = {
      ...memoryOutbox<string>(),
      [operation]: () => Promise.reject(new Error('full')),
    }
    items
      .pipe(
        deliver(
          scriptedSink<string>({
            clock,
            reply: (item) => ({ verdict: item === 'busy' ? busy : yes, after: 10 }),
          }),
          { clock, stop, outbox: failing, retry: exponential() },
        ),
      )
      .subscribe({
        next: (ended) => seen.push('item' in ended ? `${ended._tag} ${ended.item}` : ended._tag),
        complete: () => seen.push('complete'),
      })
    items.next(right(operation === 'park' ? 'busy' : 'a'))
    await clock.advance(50)
    stop.next()
    await clock.advance(10)
    expect(seen).toEqual([outcome, 'complete'])
    expect(clock.pending()).toBe(0)
  })

  it('keeps to its bound of items in hand, so the store itself holds the others', async () => {
    const clock = virtualClock()
    const outbox = memoryOutbox<string>()
    let down = true
    const failing: Outbox<string> = {
      ...outbox,
      end: (entry, outcome) => (down ? Promise.reject(new Error('down')) : outbox.end(entry, outcome)),
    }
    const sink = scriptedSink<string>({ clock, reply: () => ({ verdict: yes }) })
    const work = relay<string>({
      sink,
      outbox: failing,
      retry: exponential(),
      clock,
      random: () => 0,
      maxInFlight: 2,
      ended: () => undefined,
    })
    for (let n = 0; n < 40; n++) void work.offer(String(n))
    await clock.advance(5_000)
    // Two places, and sixteen that the store need not have noted (HD48).
    expect(sink.calls).toHaveLength(18)
    down = false
    await clock.advance(5_000)
    expect(work.totals()).toMatchObject({ delivered: 40, waiting: 0 })
  })
})
