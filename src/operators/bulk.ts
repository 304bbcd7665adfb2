import { valueOr } from '../core/either.ts'
import { limit, func, optional, strict, timeLimit, wholeNumber, withDefault } from '../core/options.ts'
import type { Decoded } from '../core/options.ts'
import { MIN_UNSAVED, batchOf, type Shape } from '../outbox/take.ts'

/**
 * How many items one delivery to a bulk sink has.
 *
 * @example
 * import { deliver, lift, sink } from 'headrace'
 * import { from } from 'rxjs'
 *
 * const insert = sink('rows', async (rows: ReadonlyArray<number>) => console.log(rows))
 * from([1, 2, 3]).pipe(lift(), deliver(insert, { batch: { maxCount: 2 } })).subscribe()
 * // => [ 1, 2 ]
 * // => [ 3 ]
 */
export interface BulkOptions<in A> {
  /** The maximum number of items. Default 20. */
  readonly maxCount?: number
  /** The maximum sum of `sizeOf`; one larger item goes alone. Default 500,000; `Infinity` for no limit. */
  readonly maxBytes?: number
  /** The milliseconds that an item may wait for others. Default 5,000; `Infinity` for no limit. */
  readonly maxDelay?: number
  /** The bytes of an item, from 0; other answers refuse it. Default its `byteLength`, or 0 if it has none. */
  readonly sizeOf?: (item: A) => number
}

const bulkShape = {
  maxCount: withDefault(wholeNumber('items', 1), 20),
  maxBytes: withDefault(limit('bytes'), 500_000),
  maxDelay: withDefault(timeLimit, 5_000),
  sizeOf: optional(func()),
}

export const bulkOptions = strict(bulkShape)

/** As many lists at a time as `maxInFlight` items make, and at least one. */
export const lists = <A>(
  { maxCount, maxBytes, maxDelay }: Decoded<typeof bulkShape>,
  maxInFlight: number,
  sizeOf: (item: A) => number,
): Shape<A, ReadonlyArray<A>> => ({
  take: batchOf({
    count: maxCount,
    bytes: maxBytes,
    delay: maxDelay,
    delayAfter: 'entry',
    concurrency: Math.max(1, Math.floor(maxInFlight / maxCount)),
  }),
  maxUnsaved: () => Math.max(MIN_UNSAVED * maxCount, maxInFlight),
  // An item of an earlier run must be able to end, whatever `sizeOf` says now.
  sizeOf: (item) =>
    valueOr(0, () => {
      const size = sizeOf(item)
      return size >= 0 && size < Infinity ? size : 0
    }),
  toItem: (entries) => entries.map(({ item }) => item),
  isBatch: true,
  maxHold: 0,
})
