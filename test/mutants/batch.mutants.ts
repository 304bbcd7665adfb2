/** The real batch with one fault at a time. A law must find each. */
import { right } from 'fp-ts/lib/Either.js'
import { EMPTY, NEVER, catchError, concat, ignoreElements, map, tap } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import type { Clock } from '../../src/core/clock.ts'
import type { ObservableEither } from '../../src/core/outcome.ts'
import type { TooLarge } from '../../src/core/refusal.ts'
import { jsonArrayFrame } from '../../src/event/payload.ts'
import type { BatchPayload, Payload } from '../../src/event/payload.ts'
import { batch } from '../../src/operators/batch.ts'
import type { BatchOptions } from '../../src/operators/batch.ts'
import { mapRight } from '../../src/operators/rightSide.ts'
import { batchLaws, itemBatchLaws } from '../laws/batch.laws.ts'
import type { BatchUnderTest, ItemBatchUnderTest } from '../laws/batch.laws.ts'

/** Other options than those that were asked for. */
const asked =
  (change: (options: BatchOptions, clock: Clock) => BatchOptions): BatchUnderTest =>
  (options = {}) =>
    batch({ ...options, ...change(options, options.clock ?? systemClock) })

/** Each batch is changed on its way out. */
const changed =
  (change: <A>(out: BatchPayload<A>) => BatchPayload<A>): BatchUnderTest =>
  (options) =>
  <L, A>(source: ObservableEither<L, Payload<A>>) =>
    source.pipe(
      batch(options),
      map((each) => (each._tag === 'Right' ? right(change(each.right)) : each)),
    )

const batchOfOne = <A>(payload: Payload<A>): BatchPayload<A> => ({
  ...{ id: payload.id, items: payload.items, members: payload.members ?? [payload] },
  ...{ byteLength: payload.byteLength, frame: jsonArrayFrame, closedBy: 'count' },
})

const faults: Readonly<Record<string, readonly [law: string, make: BatchUnderTest]>> = {
  'it has no timer': ['B6', asked(() => ({ maxDelay: Infinity }))],
  'it hands nothing back at unsubscribing': ['B7', asked(() => ({ abandoned: () => undefined }))],
  'it ignores the flush': ['B7', asked(() => ({ flush: EMPTY }))],
  'it is off by one in the count': ['B5', asked(({ maxCount = 20 }) => ({ maxCount: maxCount + 1 }))],
  'it is off by one in the bytes': ['B5', asked(({ maxBytes = 0 }) => ({ maxBytes: maxBytes + 1 }))],
  'it lets in what is too large': ['B2', asked(({ maxBytes = 0 }) => ({ maxBytes: maxBytes + 1 }))],
  'it emits within an emission': [
    'B12',
    () =>
      <L, A>(source: ObservableEither<L, Payload<A>>) =>
        source.pipe(mapRight((payload: Payload<A>) => batchOfOne(payload))) as ObservableEither<
          L | TooLarge,
          BatchPayload<A>
        >,
  ],
  'it waits twice as long': ['B10', asked(({ maxDelay = 0 }) => ({ maxDelay: 2 * maxDelay }))],
  'it always counts the delay from the first item': ['B10', asked(() => ({ delayFrom: 'firstItem' }))],
  'it measures by the wall clock': [
    'B11',
    asked((_, clock) => ({ delayFrom: 'lastFlush', clock: { ...clock, monotonic: clock.now } })),
  ],
  'it leaves its timer behind': [
    'B9',
    asked((_, clock) => ({
      clock: {
        ...clock,
        schedule: (ms, task) => {
          clock.schedule(ms, task)
          return () => undefined
        },
      },
    })),
  ],
  'it gives every batch one id': ['L2', asked(() => ({ newId: () => 'id' }))],
  'it counts no commas': [
    'B5',
    changed((out) => ({ ...out, byteLength: out.byteLength - (out.members.length - 1) })),
  ],
  'it puts items in front': ['B1', changed((out) => ({ ...out, items: [...out.items].reverse() }))],
  'it completes in the place of an error': [
    'B8',
    (options) => (source) =>
      source.pipe(
        batch(options),
        catchError(() => EMPTY),
      ),
  ],
  'it loses the rest on completion': [
    'B7',
    (options) => (source) => concat(source, NEVER).pipe(batch(options)),
  ],
  'it keeps back what has ended': [
    'L1',
    (options) => (source) => concat(source.pipe(batch(options), ignoreElements()), EMPTY),
  ],
}

describe('the laws of batch', () =>
  it.each(Object.entries(faults))('%s', (_, [law, make]) => {
    const laws = batchLaws(make).filter(({ id }) => id.startsWith(`${law} `))
    expect(laws.map(({ fails }) => fails())).toEqual([true])
  }))

/** Batches of items with one bug at a time. */
const itemBugs: ReadonlyArray<readonly [string, string, ItemBatchUnderTest]> = [
  [
    'B16',
    'counts a wrong answer as 0',
    (options) =>
      batch({
        ...options,
        sizeOf: (item) => {
          try {
            const size = options.sizeOf(item)
            return size >= 0 ? size : 0
          } catch {
            return 0
          }
        },
      }),
  ],
  [
    'B16',
    'ends the stream when sizeOf throws',
    (options) => (source) =>
      source.pipe(
        tap((each) => each._tag === 'Right' && options.sizeOf(each.right)),
        batch(options),
      ),
  ],
  ['B5', 'counts a frame', (options) => batch({ ...options, sizeOf: (item) => options.sizeOf(item) + 1 })],
  [
    'B1',
    'joins what is left in the order of size',
    (options) => (source) =>
      source.pipe(
        batch(options),
        mapRight((each) => ({
          ...each,
          items: [...each.items].sort((a, b) => options.sizeOf(a) - options.sizeOf(b)),
        })),
      ),
  ],
]

describe('the laws of a batch of items', () => {
  it.each(itemBugs)('%s finds one that %s', (id, _, make) => {
    const laws = itemBatchLaws(make).filter((law) => law.id.startsWith(`${id} `))
    expect(laws.some(({ fails }) => fails())).toBe(true)
  })
})
