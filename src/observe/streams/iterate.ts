import type { Observable } from 'rxjs'
import { ring } from '../../internal/Ring.ts'

interface Waiting<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void
  readonly reject: (error: unknown) => void
}

/** Values that are kept for a reader, if nothing else is said. */
const KEPT_FOR_READER = 100_000

/**
 * An async iterator over a hot stream, from now on. What was not asked for yet is kept, up to `limit` (default 100,000); a reader that falls
 * further behind gets an error at its next step, and the stream is let go: a gap would be a silent loss.
 */
export const iterate = <T>(
  source: Observable<T>,
  limit: number = KEPT_FOR_READER,
): AsyncIterableIterator<T, undefined> => {
  const kept = ring<T>()
  const asking = ring<Waiting<T>>()
  let failure: { readonly error: unknown } | undefined
  let ended = false

  const end = (): void => {
    ended = true
    for (const waiting of asking.drain()) waiting.resolve({ done: true, value: undefined })
  }
  const fail = (error: unknown): void => {
    const waiting = asking.shift()
    if (waiting === undefined) failure = { error }
    else waiting.reject(error)
    end()
  }
  const subscription = source.subscribe({
    next: (value) => {
      const waiting = asking.shift()
      if (waiting !== undefined) waiting.resolve({ done: false, value })
      else if (kept.size() < limit) kept.push(value)
      else {
        subscription.unsubscribe()
        fail(
          new Error(
            `more than ${String(limit)} values were not read: read faster, or subscribe to the stream`,
          ),
        )
      }
    },
    error: fail,
    complete: end,
  })

  const iterator: AsyncIterableIterator<T, undefined> = {
    next: () => {
      if (kept.size() > 0) {
        // A ring that is not empty has a first item.
        return Promise.resolve({ done: false, value: kept.shift() as T })
      }
      if (failure !== undefined) {
        const { error } = failure
        failure = undefined
        return Promise.reject(error instanceof Error ? error : new Error(String(error)))
      }
      if (ended) return Promise.resolve({ done: true, value: undefined })
      return new Promise((resolve, reject) => {
        asking.push({ resolve, reject })
      })
    },
    return: () => {
      subscription.unsubscribe()
      kept.drain()
      end()
      return Promise.resolve({ done: true, value: undefined })
    },
    [Symbol.asyncIterator]: () => iterator,
  }
  return iterator
}
