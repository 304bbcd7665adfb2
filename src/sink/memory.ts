import * as E from 'fp-ts/lib/Either.js'
import { refused } from '../core/failure.ts'
import { wholeNumber } from '../core/json.ts'
import { fromRun, nothingToCancel } from './layer.ts'
import type { Sink } from './sink.ts'

/** What a memory sink is called and how much it keeps. */
export interface MemoryOptions {
  /** Default `memory`. */
  readonly name?: string
  /** Items it keeps at most; those beyond are refused, with reason `full`. Default 100,000. */
  readonly limit?: number
}

/** A sink that keeps what it is given. */
export interface MemorySink<A> extends Sink<A> {
  /** What was delivered, in the order of delivery: a copy. */
  readonly items: () => ReadonlyArray<A>
}

/**
 * Delivers into an array: to try a pipeline, and to test one. It delivers at once, when subscribed.
 *
 * @throws RangeError if the limit is not a whole number of at least 1.
 *
 * @example
 * import { memory, onlyAttempt } from 'headrace'
 *
 * const sink = memory<string>()
 * sink.deliver('a', onlyAttempt).subscribe()
 * console.log(sink.items()) // => [ 'a' ]
 */
export const memory = <A>(options: MemoryOptions = {}): MemorySink<A> => {
  const { name = 'memory' } = options
  const limit = wholeNumber('limit', 'items', 1, options.limit ?? 100_000)
  const kept: A[] = []
  const receipt = E.right({ sink: name })
  const noRoom = E.left(refused('full', { detail: `it keeps ${String(limit)} items at most` }))

  const sink = fromRun<A>(
    name,
    (item, _attempt, receiver) => {
      const fits = kept.length < limit
      if (fits) kept.push(item)
      receiver.next(fits ? receipt : noRoom)
      receiver.complete()
      return nothingToCancel
    },
    () => () => Promise.resolve(),
  )
  return { ...sink, items: () => kept.slice() }
}
