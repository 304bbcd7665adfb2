/** Bulk sinks: `deliver` with `batch` sends many stored items in one delivery, and ends each by itself. */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { Subject, from, of, type Observable } from 'rxjs'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { deliver, lift, partlyFailed, refused, retryable, toAll } from '../../src/index.ts'
import { memoryOutbox, type Outbox } from '../../src/outbox/index.ts'
import { both, deadline, exponential, respectRetryAfter } from '../../src/policy/index.ts'
import type { Attempt, BulkDeliverOptions, Outcome, Verdict } from '../../src/index.ts'
import type { LogEvent } from '../../src/log/index.ts'
import type { Refusal } from '../../src/core/refusal.ts'
import { scriptedSink, virtualClock } from '../../src/testing/index.ts'
import { forAllAsync } from '../support/check.ts'

const yes: Verdict = right({ sink: 'scripted' })
const busy: Verdict = left(retryable('busy'))
const no: Verdict = left(refused('row'))

type VerdictOf = (items: ReadonlyArray<string>, number: number) => Verdict
const play = (options: Partial<BulkDeliverOptions<string>> = {}, verdictOf: VerdictOf = () => yes) => {
  const clock = virtualClock()
  const events: LogEvent[] = []
  const ended: Array<Outcome<string> | Refusal> = []
  let isOver = false
  const input = new Subject<string>()
  const sink = scriptedSink<ReadonlyArray<string>>({
    clock,
    reply: (items, { number }) => ({ verdict: verdictOf(items, number), after: 10 }),
  })
  const how = { batch: { maxCount: 3, maxDelay: 100 }, retry: exponential(), random: () => 0, ...options }
  input
    .pipe(lift(), deliver(sink, { ...how, clock, onEvent: (event) => events.push(event) }))
    .subscribe({ next: (each) => ended.push(each), complete: () => (isOver = true) })
  const sent = () => sink.calls.map(({ item, startedAt }) => `${String(startedAt)} ${item.join(',')}`)
  const tags = () => ended.map((each) => ('item' in each ? `${each._tag} ${each.item}` : each._tag))
  const give = (...items: ReadonlyArray<string>): void => items.forEach((item) => input.next(item))
  return { clock, sink, events, ended, input, sent, tags, give, isOver: () => isOver }
}

describe('deliver with a batch', () => {
  it.each([
    ['in order', {}, ['1010 a', '1020 b']],
    ['others at once if it is shared', { watch: () => () => undefined }, ['20 b', '1010 a']],
  ])('leaves retries, and items that fit in no batch, to the next deliver over it: %s', (_, more, all) => {
    const stop = new Subject<void>()
    const outbox = { ...memoryOutbox<string>(), keeps: () => true, takeRemaining: () => [], ...more }
    const batch = { maxCount: 9, maxBytes: 10, maxDelay: 100, sizeOf: () => 6 }
    const stopped = play({ outbox, stop, batch, maxInFlight: 9, random: () => 1 }, () => busy)
    stopped.give('a', 'b')
    stopped.clock.tick(20)
    stop.next()
    const next = play({ outbox, batch, maxInFlight: 9 })
    next.clock.tick(5_000)
    expect([stopped.sent(), stopped.isOver(), next.sent()]).toEqual([['0 a'], true, all])
  })

  it('sends full batches at once, the rest when its first item has waited maxDelay, also beside retries', () => {
    const outbox = memoryOutbox<string>()
    const how = { outbox, retry: exponential({ base: 60, factor: 1 }), maxInFlight: 6 }
    const { clock, give, sent, tags } = play(how, ([item]) => (item === 'x' ? busy : yes))
    clock.tick(1_000)
    void outbox.dead.redrive(() => true)
    give('x', 'x', 'x')
    clock.tick(72)
    give('a', 'b', 'c', 'd')
    clock.tick(4)
    give('e', 'f', 'g')
    clock.tick(60)
    give('h')
    clock.tick(1_000)
    expect(sent().filter((each) => !each.includes('x'))).toEqual(['1072 a,b,c', '1080 d,e,f', '1180 g,h'])
    expect(tags()).toEqual([...'abcdefgh'].map((item) => `Delivered ${item}`))
  })

  it('sends what waits if the outbox has no room for more', () => {
    const batch = { maxDelay: Infinity }
    const { clock, give, sent } = play({ outbox: memoryOutbox({ maxCount: 2 }), batch })
    give('a', 'b', 'c')
    clock.tick(10)
    give('d', 'e', 'f')
    expect(sent()).toEqual(['0 a,b', '10 d,e'])
  })

  it.each([true, false])('sends the rest at the end of the source, from a fast store: %s', async (isFast) => {
    const store = memoryOutbox<string>()
    let running = () => 0
    const nextDue = (only?: boolean) => (running() > 0 ? undefined : store.nextDue(only))
    const enqueue = async (items: ReadonlyArray<string>) => Promise.resolve(items).then(store.enqueue)
    const batch = { maxDelay: Infinity, maxCount: 2, maxBytes: 2, sizeOf: () => 1 }
    const how = { outbox: isFast ? store : { ...store, enqueue, nextDue }, batch, maxInFlight: 2 }
    const { clock, sink, give, input, sent, isOver } = play(how)
    running = sink.running
    give('a')
    await clock.advance(5_000)
    expect(sent()).toEqual([])
    give('b', 'c', 'd', 'e')
    input.complete()
    await clock.advance(20)
    expect([sent(), isOver()]).toEqual([['5000 a,b', '5010 c,d', '5020 e'], false])
    await clock.advance(10)
    expect(isOver()).toBe(true)
  })

  it.each([
    [100, ['0 a', '8 b,c,d', '108 e']],
    [Infinity, ['0 a', '0 b', '4 c', '8 d', '12 e']],
  ])('lets what others add after its end wait for others, if maxDelay bounds it: %d', (maxDelay, batches) => {
    const [inner, added] = [memoryOutbox<string>(), new Subject<void>()]
    const outbox = { ...inner, watch: (call: () => void) => (added.subscribe(call), () => undefined) }
    const { clock, give, input, sent, isOver } = play({ outbox, batch: { maxCount: 3, maxDelay } })
    give('a')
    input.complete()
    for (const item of 'bcde') {
      void inner.enqueue([item])
      added.next()
      clock.tick(4)
    }
    clock.tick(200)
    expect([sent(), isOver()]).toEqual([batches, true])
  })

  it('settles each item of a PartlyFailed by its place, and retries together those that wait', () => {
    const { clock, give, sent, tags, events } = play({}, (items, number) =>
      number === 1 ? left(partlyFailed(items.map((id) => (id === 'x' ? no : id === 'y' ? busy : yes)))) : yes,
    )
    give('a', 'x', 'y', 'b', 'y', 'y')
    clock.tick(60_000)
    expect(sent()).toEqual(['0 a,x,y', '0 b,y,y', '1010 y,y,y'])
    expect(tags().join()).toBe('Delivered a,Rejected x,Delivered b,Delivered y,Delivered y,Delivered y')
    expect(events.some(({ _tag }) => _tag === 'Defect')).toBe(false)
  })

  it('holds back only the item of a PartlyFailed whose receiver asked for a pause, and new items behind it', () => {
    const limited = left(retryable('status', { status: 429, notBefore: virtualClock().now() + 30_000 }))
    let draws = 0
    const how = { retry: both(exponential(), respectRetryAfter), random: () => draws++, maxInFlight: 3 }
    const { clock, give, sent } = play(how, (items, number) => {
      if (items.includes('a') && number === 2) return busy
      return number === 1 ? left(partlyFailed(items.map((id) => (id === 'l' ? limited : busy)))) : yes
    })
    give('a', 'l', 'b', 'c')
    clock.tick(30_000)
    expect([sent(), draws]).toEqual([['0 a,l,b', '1010 a,b', '3020 a,b', '30000 l'], 2])
  })

  it('reports a PartlyFailed of another length, and retries all', () => {
    const tooShort = left(partlyFailed([yes, no]))
    const { clock, give, events, sent } = play({}, (_, number) => (number === 1 ? tooShort : yes))
    give('a', 'b', 'c')
    clock.tick(60_000)
    const words = 'PartlyFailed has 2 members for 3 items: give one Either for each item, in order'
    expect(events.filter(({ _tag }) => _tag === 'Defect')).toMatchObject([{ error: new Error(words) }])
    expect(sent()).toEqual(['0 a,b,c', '1010 a,b,c'])
  })

  it('gives a batch of retries the earliest deadline of its items, and the longest delay', async () => {
    const outbox = memoryOutbox<string>()
    const now = virtualClock().now()
    await outbox.enqueue(['a', 'late', 'b', 'c'])
    const progress = (at: number) => ({ attempts: at === 2 ? 2 : 1, lastFailure: retryable('busy') })
    const started = [now - 200, now - 10_000, now - 300, now - 100]
    const leased = await outbox.lease(0, { count: 4, retries: 0 })
    const tried = leased.map((each, at) => ({ ...each, firstAttemptAt: started[at], progress: progress(at) }))
    await outbox.nack(tried.map((entry) => ({ entry, due: 0 })))
    const retry = both(exponential(), deadline(10_000))
    const { clock, sink, sent, tags } = play({ outbox, retry, batch: { maxCount: 4 } }, () => busy)
    clock.tick(4_015)
    expect([sent(), tags()]).toEqual([['0 a,b,c', '4010 a,b,c'], ['Expired late']])
    expect(sink.calls[0]?.attempt).toMatchObject({ number: 3, until: now - 300 + 10_000 })
  })

  it.each([NaN, Infinity, -1, '5'])('refuses an item whose size is no number from 0: %j', (size) => {
    const sizeOf = (item: string) => (item === 'a' ? (size as number) : 0)
    const { clock, give, tags, ended } = play({ batch: { sizeOf } })
    give('a', 'b')
    clock.tick(10_000)
    const message = expect.stringContaining('sizeOf must answer a number from 0, got ') as unknown
    expect([tags(), ended[0]]).toMatchObject([['Invalid', 'Delivered b'], { faults: [{ message }] }])
  })

  const sink = scriptedSink<ReadonlyArray<string>>({ clock: virtualClock(), reply: () => ({ verdict: yes }) })

  it('takes single items, and answers their outcomes', () => {
    const all = of(right('a')).pipe(deliver(sink, { batch: {} }))
    expectTypeOf(all).toExtend<Observable<Refusal | Outcome<string>>>()
    // @ts-expect-error A list is no item of this sink.
    of(right(['a'])).pipe(deliver(sink, { batch: {} }))
    // @ts-expect-error Without `batch` the items are lists.
    of(right('a')).pipe(deliver(sink))
  })
})

it('several bulk sinks are asked again with one list, whatever each item was told', () => {
  const clock = virtualClock()
  const got: string[] = []
  const bulk = (name: string, answerTo: (item: string, number: number) => Verdict) => {
    const reply = (items: ReadonlyArray<string>, { number }: Attempt) => {
      got.push(`${name} ${items.join(',')}`)
      return { verdict: left(partlyFailed(items.map((item) => answerTo(item, number)))), after: 10 }
    }
    return { ...scriptedSink<ReadonlyArray<string>>({ clock, reply }), name }
  }
  const busyOnce = (item: string, number: number) =>
    number === 1 ? left(retryable('busy', { detail: item })) : yes
  const both = toAll([bulk('0', (item, n) => (item < 'c' ? yes : busyOnce(item, n))), bulk('1', busyOnce)])
  from(['a', 'b', 'c'].map((item) => right(item)))
    .pipe(deliver(both, { clock, random: () => 0, batch: { maxCount: 3 }, retry: exponential() }))
    .subscribe()
  clock.tick(100_000)
  expect(got).toEqual(['0 a,b,c', '1 a,b,c', '1 a,b', '0 c', '1 c'])
})

const verdicts = fc.constantFrom<'yes' | 'no' | 'busy'>('yes', 'no', 'busy')
const script = fc.array(verdicts, { maxLength: 4 })
const world = fc.record({
  items: fc.array(fc.record({ size: fc.nat({ max: 6 }), script }), { maxLength: 60, size: 'max' }),
  whole: fc.array(verdicts, { maxLength: 5 }),
  maxCount: fc.integer({ min: 1, max: 7 }),
  maxBytes: fc.constantFrom(1, 5, 12, Infinity),
  maxInFlight: fc.constantFrom(1, 7, 30),
  /** The log event after the acceptance whose listener stops it. */
  stopAt: fc.option(fc.nat(30), { nil: Infinity }),
  isSlow: fc.boolean(),
})

it('every item has one outcome, its own; no batch is over a bound; a retried batch holds only retries', () => {
  return forAllAsync(world, async ({ items, whole, maxCount, maxBytes, maxInFlight, stopAt, isSlow }) => {
    const clock = virtualClock()
    const tries = new Map<number, number>()
    const running = new Set<number>()
    const ended: Array<{ _tag: string; item: number; attempts: number }> = []
    const sizeOf = (item: number): number => items[item]?.size ?? 0
    const accepted: unknown[] = []
    const stop = new Subject<void>()
    const store = memoryOutbox<number>()
    const outbox: Outbox<number> = isSlow ? { ...store, ack: async (list) => store.ack(list) } : store
    let [most, round, told] = [0, 0, 0]
    const onEvent = (event: LogEvent): void => {
      if (event._tag === 'Accepted') accepted.push(event.item)
      else if (told++ === stopAt) stop.next()
    }
    const sink = scriptedSink<ReadonlyArray<number>>({
      clock,
      reply: (list) => {
        const bytes = list.reduce((sum, item) => sum + sizeOf(item), 0)
        expect(list.length).toBeLessThanOrEqual(maxCount)
        expect(list.length === 1 || bytes <= maxBytes).toBe(true)
        expect(new Set(list.map((item) => tries.has(item))).size).toBe(1)
        for (const item of list) expect(running.has(item)).toBe(false)
        for (const item of list) running.add(item)
        most = Math.max(most, running.size)
        clock.schedule(10, () => list.forEach((item) => running.delete(item)))
        const all = whole[round++] ?? 'yes'
        const members = list.map((item): Verdict => {
          const number = tries.get(item) ?? 0
          tries.set(item, number + 1)
          const each = items[item]?.script[number] ?? 'yes'
          return each === 'yes' ? yes : each === 'no' ? no : busy
        })
        return { verdict: all === 'busy' ? busy : left(partlyFailed(members)), after: 10 }
      },
    })
    from(items.map((_, index) => right(index)))
      .pipe(
        deliver(sink, {
          ...{ clock, maxInFlight, random: () => 0, retry: exponential({ base: 100, factor: 1 }) },
          ...{ batch: { maxCount, maxBytes, sizeOf }, outbox, stop, onEvent },
        }),
      )
      .subscribe((each) => ended.push(each as never))
    await clock.advance(1_000_000)
    expect(ended.map(({ item }) => item).sort((a, b) => a - b)).toEqual(accepted)
    if (stopAt > told) expect(accepted).toHaveLength(items.length)
    for (const { _tag, item, attempts } of ended)
      if (_tag !== 'Abandoned') expect(attempts).toBe(tries.get(item))
    expect(most).toBeLessThanOrEqual(Math.max(maxCount, maxInFlight))
  })
})
