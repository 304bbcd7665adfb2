import type { Invalid, Refusal } from '../../src/core/refusal.ts'
import { deliver, firstSuccess, lift, sink, withConcurrency, withDedupe } from '../../src/index.ts'
import { refused, retryable } from '../../src/core/failure.ts'
import { memoryOutbox, type Outbox } from '../../src/outbox/index.ts'
import { lmdbOutbox } from '../../src/outbox/lmdb/index.ts'
import { exponential } from '../../src/policy/index.ts'
import type { Attempt, DeliverOptions, Failure, Outcome, Sink, Verdict } from '../../src/index.ts'
import type { LogEvent } from '../../src/log/index.ts'
import { scriptedSink, virtualClock, type VirtualClock } from '../../src/testing/index.ts'
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import { BehaviorSubject, EMPTY, NEVER, Subject, concat, from, of } from 'rxjs'
import { take, throwError, type Observable } from 'rxjs'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { turns } from '../support/check.ts'
import { newFolder } from '../support/folder.ts'
import { until } from '../support/http.ts'

const nothing = () => Promise.resolve()
const yes: Verdict = right({ sink: 'scripted' })
const busy: Verdict = left(retryable('status', { status: 503 }))

const scripted = (clock: VirtualClock, answer = (_item: string, _attempt: Attempt) => yes) =>
  scriptedSink<string>({ clock, reply: (item, attempt) => ({ verdict: answer(item, attempt), after: 10 }) })

const record = <T>(stream: Observable<T>): { values: T[]; end: string } => {
  const seen = { values: [] as T[], end: 'open' }
  stream.subscribe({
    next: (value) => seen.values.push(value),
    error: (error: unknown) => (seen.end = `error: ${String(error)}`),
    complete: () => (seen.end = 'complete'),
  })
  return seen
}

const tags = (seen: { values: ReadonlyArray<{ _tag: string }> }) => seen.values.map((v) => v._tag).join(' ')

describe('deliver', () => {
  it.each([true, false])('tells a lost answer, and delivers what was stored: %s', async (isStored) => {
    const inner = memoryOutbox<string>()
    const enqueue = (items: ReadonlyArray<string>) =>
      turns().then(() => Promise.reject(Object.assign(new Error('lost'), isStored && inner.enqueue(items))))
    const [clock, outbox] = [virtualClock(), { ...inner, keeps: () => true, enqueue }]
    const seen = record(of(right('a')).pipe(deliver(sink('s', nothing), { clock, outbox })))
    await clock.advance(2_000)
    expect([tags(seen), seen.end]).toEqual([isStored ? 'NotStored Delivered' : 'NotStored', 'complete'])
  })

  it.each([() => memoryOutbox<string>(), () => lmdbOutbox<string>({ path: newFolder() })])(
    'delivers what the host redrives in its outbox: %#',
    async (open) => {
      const [outbox, source] = [open(), new Subject<Either<never, string>>()]
      let answer: Either<Failure, string> = left(refused('status'))
      const to = sink('s', async () => answer)
      const seen = record(source.pipe(deliver(to, { outbox })))
      source.next(right('a'))
      await until(() => tags(seen) === 'Rejected')
      answer = right('taken')
      expect(await outbox.dead.redrive(() => true)).toHaveLength(1)
      await until(() => tags(seen) === 'Rejected Delivered')
      source.complete()
      await outbox.close()
    },
  )

  it('tries again after the backoff, and says what happened', () => {
    const [clock, stop, told] = [virtualClock(), new Subject<void>(), [] as LogEvent[]]
    const sink = scripted(clock, (_, { number }) => (number < 3 ? busy : yes))
    const onEvent = (each: LogEvent) => told.push(each)
    const seen = record(of(right('a')).pipe(deliver(sink, { clock, stop, retry: exponential(), onEvent })))
    clock.tick(60_000)
    const starts = sink.calls.map(({ attempt, startedAt }) => `${attempt.number} at ${startedAt}`)
    expect(starts).toEqual(['1 at 0', '2 at 1010', '3 at 3020'])
    expect([stop.observed, seen.values]).toMatchObject([false, [{ _tag: 'Delivered', attempts: 3 }]])
    const order = ['Accepted', 'Attempted', 'Waiting', 'Attempted', 'Waiting', 'Attempted', 'Ended']
    expect(told.map(({ _tag }) => _tag)).toEqual(order)
    const because = 'exponential from 1s x2'
    expect(told[2]).toMatchObject({ from: 'deliver', delay: 1_000, attempts: 1, because })
  })

  it('a hundred thousand items through a sink that answers at once neither overflow nor linger', () => {
    const clock = virtualClock()
    let calls = 0
    const instant = sink('instant', (_item: number) => (calls++, yes))
    const seen = record(from(Array(100_000).keys()).pipe(lift(), deliver(instant, { clock })))
    clock.tick(0)
    expect([calls, seen.values.length, seen.end]).toEqual([100_000, 100_000, 'complete'])
  })

  it('keeps the types of the item and of what came before', () => {
    interface Order {
      readonly id: string
      readonly total: number
    }
    type Ends = Observable<Invalid | Refusal | Outcome<Order>>
    const byId: Sink<{ readonly id: string }> = { name: 'byId', deliver: () => of(yes), close: nothing }
    const source: Observable<Either<Invalid, Order>> = of(right({ id: '1', total: 2 }))
    expectTypeOf(source.pipe(deliver(byId))).toEqualTypeOf<Ends>()
    expectTypeOf(source.pipe(deliver(byId, { outbox: memoryOutbox<Order>() }))).toEqualTypeOf<Ends>()
    const perhaps: { readonly outbox?: Outbox<Order> } = {}
    expectTypeOf(source.pipe(deliver(byId, perhaps))).toEqualTypeOf<Ends>()
    const numbers: Observable<Either<never, number>> = of(right(1))
    // @ts-expect-error a sink for orders takes no numbers
    numbers.pipe(deliver(byId))
  })

  it('stop cancels what runs, hands back what has not ended, and completes', () => {
    const [clock, stop, outbox] = [virtualClock(), new Subject<void>(), memoryOutbox<string>()]
    const sink = scripted(clock, (item) => (item === 'waits' ? busy : yes))
    const items = concat(of(right('waits'), right('runs'), right('queued')), NEVER)
    const seen = record(items.pipe(deliver(sink, { clock, stop, outbox, maxInFlight: 1 })))
    clock.tick(10)
    expect(sink.running()).toBe(1)
    stop.next()
    const ended = seen.values.map((each) => 'attempts' in each && `${each.item}: ${each.attempts}`)
    expect(ended).toEqual(['runs: 1', 'waits: 1', 'queued: 0'])
    expect([tags(seen), outbox.stats().waiting]).toEqual(['Abandoned Abandoned Abandoned', 0])
    expect([seen.end, sink.running(), clock.pending(), stop.observed]).toEqual(['complete', 0, 0, false])
  })

  it.each([false, true])('stop counts no attempt of an item that waits for a place, durable: %s', (keeps) => {
    const [clock, stop, memory] = [virtualClock(), new Subject<void>(), memoryOutbox<string>()]
    const nacked: unknown[] = []
    const nack: typeof memory.nack = (list) => {
      nacked.push(...list.map(({ entry }) => `${entry.item} ${String(entry.firstAttemptAt)}`))
      return memory.nack(list)
    }
    const outbox = keeps ? { ...memory, keeps: () => true, nack, takeRemaining: () => [] } : memory
    const joining = withDedupe({ keyOf: (item: string) => item.at(0), keyTimeout: 1_000 })
    const one = joining(withConcurrency({ concurrency: 1 })(scripted(clock)))
    const items = concat(of(right('runs'), right('queued'), right('queued too')), NEVER)
    const seen = record(items.pipe(deliver(firstSuccess([one]), { clock, stop, outbox })))
    stop.next()
    const ended = seen.values.map((each) => 'attempts' in each && `${each.item}: ${each.attempts}`)
    expect(ended).toEqual(keeps ? [] : ['runs: 1', 'queued: 0', 'queued too: 0'])
    expect(nacked).toEqual(keeps ? [`runs ${clock.now()}`, 'queued undefined', 'queued too undefined'] : [])
    const after = record(from<string[]>([]).pipe(lift(), deliver(scripted(clock), { clock, outbox })))
    clock.tick(10)
    expect([tags(after), after.end]).toEqual([keeps ? 'Delivered Delivered Delivered' : '', 'complete'])
  })
})

const later =
  <L>(write: (list: L) => unknown) =>
  (list: L): Promise<void> =>
    Promise.resolve().then(() => void write(list))
it.each([
  ['puts back', ['Restored', 'Attempted', 'Ended'], nothing],
  ['has delivered', ['Restored'], () => yes],
])('takes over at once an entry that an earlier deliver %s, stored late', async (_, told, answer) => {
  const [clock, memory, seen] = [virtualClock(), memoryOutbox<string>(), [] as string[]]
  const late = { nack: later(memory.nack), ack: later(memory.ack) }
  const outbox = { ...memory, keeps: () => true, takeRemaining: () => [], ...late }
  const earlier = concat(of(right('a')), NEVER).pipe(deliver(sink('s', answer), { clock, outbox }))
  earlier.subscribe().unsubscribe()
  const onEvent = (event: LogEvent) => seen.push(event._tag)
  const after = record(EMPTY.pipe(deliver(sink('s', nothing), { clock, outbox, onEvent })))
  await clock.advance(10)
  expect([seen, after.end]).toEqual([told, 'complete'])
})

type Ended = Refusal | Outcome<string>
const told = (ended: Ended): string => ('item' in ended ? `${ended._tag} ${ended.item}` : ended._tag)

/** Fails the first attempt and takes the second, both at once: so all that is offered together is due together. */
const open = (options: (clock: VirtualClock) => DeliverOptions = () => ({})) => {
  const clock = virtualClock()
  const items = new Subject<Either<never, string>>()
  const reply = (_: string, { number }: Attempt) => ({ verdict: number === 1 ? busy : yes })
  const sink = scriptedSink<string>({ clock, reply })
  const stream = items.pipe(deliver(sink, { clock, retry: exponential(), ...options(clock) }))
  return { clock, items, sink, stream }
}

describe('a subscriber that acts inside next', () => {
  it('stops: what was due at the same time is not started any more, and is handed back', () => {
    const stop = new Subject<void>()
    const { clock, items, sink, stream } = open(() => ({ stop }))
    const seen: string[] = []
    stream.subscribe({
      next: (ended) => {
        seen.push(told(ended))
        if (ended._tag === 'Delivered') stop.next()
      },
      complete: () => seen.push('complete'),
    })
    for (const item of ['a', 'b', 'c']) items.next(right(item))
    clock.tick(1_000)
    expect(seen).toEqual(['Delivered a', 'Abandoned b', 'Abandoned c', 'complete'])
    expect([sink.calls.length, clock.pending()]).toEqual([4, 0])
  })

  it('stops at the first outcome of a sink that answers at once', () => {
    const [items, stop] = [new Subject<Either<never, string>>(), new Subject<Ended>()]
    const seen = record(stop)
    const taking = sink<string>('s', () => yes)
    items.pipe(deliver(taking, { stop })).subscribe(stop)
    items.next(right('a'))
    expect([seen.values.map(told), seen.end]).toEqual([['Delivered a'], 'complete'])
  })

  it('begins again: each stream reports its own items', () => {
    const [outbox, items] = [memoryOutbox<string>(), new Subject<Either<never, string>>()]
    const seen: unknown[] = []
    const onEvent = (event: LogEvent) => event._tag === 'Ended' && seen.push(event.outcome.item)
    const options = { outbox, maxInFlight: 1, onEvent }
    const again = of(right('b'), right('c')).pipe(deliver(scripted(virtualClock()), options))
    const taking = sink<string>('s', () => yes)
    const first = items.pipe(deliver(taking, options)).subscribe(() => {
      first.unsubscribe()
      again.subscribe()
    })
    items.next(right('a'))
    expect([seen, outbox.stats().waiting]).toEqual([['a'], 2])
  })

  it('stops at an item past its deadline: the rest of its batch is cancelled', async () => {
    const [clock, stop, outbox] = [virtualClock(), new Subject<Ended>(), memoryOutbox<string>()]
    void outbox.enqueue(['late', 'rest'])
    const leased = await outbox.lease(0, { count: 2, retries: 2 })
    const [old, due] = [{ firstAttemptAt: -1e9 }, clock.now() + 5]
    void outbox.nack(leased.map((entry, n) => ({ entry: n === 0 ? { ...entry, ...old } : entry, due })))
    const sink = scriptedSink<ReadonlyArray<string>>({ clock, reply: () => ({ after: 10 }) })
    const options = { clock, outbox, stop, batch: { maxCount: 10, maxDelay: 10 } }
    const seen = record(stop)
    from<string[]>([]).pipe(lift(), deliver(sink, options)).subscribe(stop)
    clock.tick(9)
    expect([seen.values.map(told), sink.running()]).toEqual([['Expired late', 'Abandoned rest'], 0])
  })

  it('sends: every subscriber sees the outcomes in one order', () => {
    const clock = virtualClock()
    const items = new Subject<Either<never, string>>()
    const reply = (item: string) => ({ verdict: yes, ...(item === 'first' && { after: 10 }) })
    const sink = scriptedSink<string>({ clock, reply })
    const shared = new Subject<Ended>()
    const seen: string[] = []
    shared.pipe(take(1)).subscribe(() => items.next(right('second')))
    shared.subscribe({ next: (ended) => seen.push(told(ended)), complete: () => seen.push('complete') })
    items.pipe(deliver(sink, { clock })).subscribe(shared)
    items.next(right('first'))
    clock.tick(10)
    items.complete()
    expect(seen).toEqual(['Delivered first', 'Delivered second', 'complete'])
  })
})

it('a stop after an error of the source ends with that error', () => {
  const [stop, clock] = [new Subject<void>(), virtualClock()]
  const fails = throwError(() => 'broken')
  const seen = record(concat(of(right('a')), fails).pipe(deliver(scripted(clock), { clock, stop })))
  stop.next()
  expect([tags(seen), seen.end]).toEqual(['Abandoned', 'error: broken'])
})

it('reports a refusal and an error of stop, and completes when no delivery runs any more', () => {
  const [told, verdict] = [[] as LogEvent[], new Subject<Verdict>()]
  const slow = { ...sink<string>('s', nothing), deliver: () => verdict }
  const outbox = memoryOutbox<string>({ maxCount: 1 })
  const options = { outbox, stop: throwError(() => 'no'), onEvent: (event: LogEvent) => told.push(event) }
  const seen = record(of(right('a'), right('b')).pipe(deliver(slow, options)))
  verdict.next(yes)
  expect([tags(seen), seen.end]).toEqual(['Full Delivered', 'open'])
  verdict.complete()
  expect(seen.end).toBe('complete')
  expect(told.slice(0, 3)).toMatchObject([{ where: 'stop' }, { item: 'a' }, { refusal: { _tag: 'Full' } }])
})

it('a stop that is there from the start completes without asking the source', () => {
  const { items, stream } = open(() => ({ stop: new BehaviorSubject(1) }))
  const seen = record(stream)
  expect([seen.values, seen.end, items.observed]).toEqual([[], 'complete', false])
})
