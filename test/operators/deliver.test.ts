import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { Subject, from, of } from 'rxjs'
import type { Observable } from 'rxjs'
import { describe, expect, expectTypeOf, it } from 'vitest'
import type { LogEvent } from '../../src/log/logEvent.ts'
import { deliver } from '../../src/operators/deliver.ts'
import { refused } from '../../src/core/failure.ts'
import type { Outcome } from '../../src/core/outcome.ts'
import { invalid } from '../../src/core/refusal.ts'
import type { Invalid, Refusal } from '../../src/core/refusal.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import { both, deadline, exponential } from '../../src/policy/retryPolicy.ts'
import type { Sink } from '../../src/sink/sink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { busy, nothing, record, scripted, tags, yes } from './delivering.ts'

describe('deliver', () => {
  it('gives each item one outcome and completes when the last is at rest', () => {
    const clock = virtualClock()
    const sink = scripted<string>(clock, () => yes)
    const seen = record(of(right('a'), right('b')).pipe(deliver(sink, { clock })))
    expect(seen).toMatchObject({ values: [], end: 'open' })
    clock.tick(10)
    expect(seen.values).toEqual([
      { _tag: 'Delivered', item: 'a', attempts: 1, receipt: { sink: 'scripted' } },
      { _tag: 'Delivered', item: 'b', attempts: 1, receipt: { sink: 'scripted' } },
    ])
    expect(seen.end).toBe('complete')
    expect(clock.pending()).toBe(0)
  })

  it('tries again after the backoff, and says what happened', () => {
    const clock = virtualClock()
    const told: LogEvent[] = []
    const sink = scripted<string>(clock, (_, { number }) => (number < 3 ? busy : yes))
    const seen = record(
      of(right('a')).pipe(
        deliver(sink, { clock, retry: exponential(), onEvent: (happening) => told.push(happening) }),
      ),
    )
    clock.tick(60_000)
    expect(sink.calls.map((call) => [call.number, call.at])).toEqual([
      [1, 0],
      [2, 1_010],
      [3, 3_020],
    ])
    expect(seen.values).toMatchObject([{ _tag: 'Delivered', attempts: 3 }])
    expect(told.map((happening) => happening._tag)).toEqual(['Accepted', 'Waiting', 'Waiting', 'Ended'])
    expect(told[1]).toMatchObject({ delay: 1_000, attempts: 1, because: 'exponential from 1s x2' })
  })

  it('ends what is refused as rejected, and what runs out of time as expired', () => {
    const clock = virtualClock()
    const sink = scripted<string>(clock, (item) =>
      item === 'no' ? left(refused('status', { status: 404 })) : busy,
    )
    const retry = both(exponential(), deadline(10_000))
    const seen = record(of(right('no'), right('never')).pipe(deliver(sink, { clock, retry })))
    clock.tick(10_000)
    expect(seen.values).toMatchObject([
      { _tag: 'Rejected', item: 'no', attempts: 1, failure: { status: 404 } },
      { _tag: 'Expired', item: 'never', attempts: 4, failure: { attempts: 4, lastFailure: { status: 503 } } },
    ])
    expect(seen.end).toBe('complete')
  })

  it('lets lefts pass at once', () => {
    const clock = virtualClock()
    const gone = invalid('x', [])
    const seen = record(
      of(right('a'), left(gone)).pipe(
        deliver(
          scripted<string>(clock, () => yes),
          { clock },
        ),
      ),
    )
    expect(seen.values).toEqual([gone])
    clock.tick(10)
    expect(tags(seen)).toBe('Invalid Delivered')
  })

  it('turns away what the outbox cannot keep, and goes on', () => {
    const clock = virtualClock()
    const sink = scripted<string>(clock, () => yes)
    const items = new Subject<Either<never, string>>()
    const seen = record(items.pipe(deliver(sink, { clock, outbox: memoryOutbox<string>({ maxCount: 1 }) })))
    items.next(right('a'))
    items.next(right('b'))
    expect(seen.values).toEqual([{ _tag: 'Full', bound: 'count', limit: 1, input: 'b' }])
    clock.tick(10)
    items.next(right('c'))
    clock.tick(10)
    expect(tags(seen)).toBe('Full Delivered Delivered')
  })

  it('due retries go first, but leave half of the slots to new items', () => {
    const clock = virtualClock()
    const sink = scripted<string>(
      clock,
      (item, { number }) => (item.startsWith('r') && number === 1 ? busy : yes),
      10,
    )
    const items = new Subject<Either<never, string>>()
    const seen = record(items.pipe(deliver(sink, { clock, maxInFlight: 4, retry: exponential() })))
    for (const item of ['r1', 'r2', 'r3', 'r4']) items.next(right(item))
    clock.tick(1_009)
    for (const item of ['n1', 'n2', 'n3', 'n4', 'n5', 'n6']) items.next(right(item))
    clock.tick(5_000)
    const order = sink.calls.slice(4).map((call) => call.item)
    expect(order.slice(0, 4)).toEqual(['n1', 'n2', 'n3', 'n4'])
    expect(order.slice(4, 6)).toEqual(['r1', 'r2'])
    expect(order.slice(6, 8)).toEqual(['n5', 'n6'])
    expect(seen.values).toHaveLength(10)
  })

  it('a hundred thousand items through a sink that answers at once neither overflow nor linger', () => {
    const clock = virtualClock()
    let calls = 0
    const instant: Sink<number> = {
      name: 'instant',
      deliver: () => {
        calls++
        return of(yes)
      },
      close: nothing,
    }
    const seen = record(
      from(Array.from({ length: 100_000 }, (_, n) => right(n))).pipe(deliver(instant, { clock })),
    )
    clock.tick(0)
    expect([calls, seen.values.length, seen.end]).toEqual([100_000, 100_000, 'complete'])
  })

  it.each([0, -1, NaN, 1.5, Infinity])('refuses maxInFlight: %s where it is written', (maxInFlight) => {
    const sink = scripted<string>(virtualClock(), () => yes)
    expect(() => deliver(sink, { maxInFlight })).toThrow(RangeError)
    expect(() => deliver(sink, { maxInFlight })).toThrow('deliver: maxInFlight must be a whole number')
  })

  it('with one slot new items and retries share it', () => {
    const clock = virtualClock()
    const sink = scripted<string>(clock, (item) => (item === 'sick' ? busy : yes), 10)
    const items = new Subject<Either<never, string>>()
    const seen = record(
      items.pipe(deliver(sink, { clock, maxInFlight: 1, retry: exponential({ base: 5, factor: 1 }) })),
    )
    items.next(right('sick'))
    for (let n = 0; n < 20; n++) items.next(right(`well ${String(n)}`))
    clock.tick(1_000)
    expect(seen.values).toHaveLength(20)
  })

  it('keeps the types of the item and of what came before', () => {
    interface Order {
      readonly id: string
      readonly total: number
    }
    const byId: Sink<{ readonly id: string }> = { name: 'byId', deliver: () => of(yes), close: nothing }
    const source: Observable<Either<Invalid, Order>> = of(right({ id: '1', total: 2 }))
    expectTypeOf(source.pipe(deliver(byId))).toEqualTypeOf<Observable<Invalid | Refusal | Outcome<Order>>>()
    expectTypeOf(source.pipe(deliver(byId, { outbox: memoryOutbox<Order>() }))).toEqualTypeOf<
      Observable<Invalid | Refusal | Outcome<Order>>
    >()
    const numbers: Observable<Either<never, number>> = of(right(1))
    // @ts-expect-error a sink for orders takes no numbers
    numbers.pipe(deliver(byId))
  })
})
