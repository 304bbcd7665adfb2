import { Observable, Subscriber, Subject } from 'rxjs'
import type { Observer, OperatorFunction, Subscription } from 'rxjs'
import { serialQueue, queue } from '../core/queue.ts'
import { isolate } from './listeners.ts'

/** Is told what a subscriber threw, or what the promise that it answered rejected with. */
export type Report = (error: unknown) => void

type Next<T> = (value: T) => void
type Listener<T> = Partial<Observer<T>> | Next<T> | null

/** Who listens, in the one form in which all can be wrapped. */
const listenerOf = <T>(
  listener: Listener<T> | undefined,
  error: ((error: unknown) => void) | null | undefined,
  complete: (() => void) | null | undefined,
): Partial<Observer<T>> => {
  if (typeof listener === 'object' && listener !== null) return listener
  return {
    ...(typeof listener === 'function' ? { next: listener } : {}),
    ...(typeof error === 'function' ? { error } : {}),
    ...(typeof complete === 'function' ? { complete } : {}),
  }
}

const wrapped = <T>(listener: Partial<Observer<T>>, report: Report): Observer<T> => ({
  next: (value) => {
    isolate((given: T) => listener.next?.(given), value, report)
  },
  error: (error) => {
    if (listener.error === undefined) report(error)
    else isolate((given: unknown) => listener.error?.(given), error, report)
  },
  complete: () => {
    isolate(() => listener.complete?.(), undefined, report)
  },
})

/**
 * A stream whose subscribers harm nobody (CL5). RxJS throws what a subscriber throws out of a timer, which ends the process and with it
 * every event in memory; and a promise that a subscriber answers may reject unheard. Neither can be caught from within the stream,
 * so `subscribe` wraps whoever comes, and `pipe` gives a stream of the same kind.
 */
export const contained = <T>(inner: Observable<T>, report: Report): Observable<T> => {
  const subscribe = (
    listener?: Listener<T>,
    error?: ((error: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription => {
    // A subscriber is RxJS's own: an operator, or a promise that waits for a value.
    if (listener instanceof Subscriber) return inner.subscribe(listener)
    return inner.subscribe(wrapped(listenerOf(listener, error, complete), report))
  }

  const pipe = (...operators: ReadonlyArray<OperatorFunction<never, unknown>>): Observable<never> => {
    // The types of `pipe` say that each operator takes what the one before it gives.
    const through = (before: Observable<unknown>, operator: OperatorFunction<never, unknown>) =>
      operator(before as Observable<never>)
    return contained(operators.reduce<Observable<unknown>>(through, inner) as Observable<never>, report)
  }

  return Object.assign(new Observable<T>(), { subscribe, pipe })
}

/** A stream that flows whether anybody listens or not. */
export interface Hot<T> {
  readonly next: (value: T) => void
  readonly complete: () => void
  /** Whether anybody listens now. */
  readonly heard: () => boolean
  /** What is being told at this moment: what a subscriber causes while it is told of something. */
  readonly current: () => T | undefined
  /** For strangers. */
  readonly values$: Observable<T>
}

/**
 * A hot stream. Every subscriber hears every value, all in the same order: also a value that a subscriber causes. What a subscriber
 * throws goes to `report`.
 */
export const hot = <T>(report: Report): Hot<T> => {
  const subject = new Subject<T>()
  const order = serialQueue()
  let current: T | undefined
  const emit = (value: T): void => {
    current = value
    subject.next(value)
    current = undefined
  }
  const end = (): void => {
    subject.complete()
  }
  return {
    next: (value) => {
      // To nobody it is not said: RxJS copies its list of listeners all the same, which is felt for every event.
      if (subject.observed || order.busy()) order.take(emit, value)
    },
    complete: () => {
      order.take(end, undefined)
    },
    heard: () => subject.observed,
    current: () => current,
    values$: contained(subject, report),
  }
}

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
  const kept = queue<T>()
  const asking = queue<Waiting<T>>()
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
