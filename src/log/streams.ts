import { Observable, Subscriber, Subject } from 'rxjs'
import type { Observer, OperatorFunction, Subscription } from 'rxjs'
import { serialQueue } from '../core/queue.ts'
import { callSafely } from './listeners.ts'

/** Is given what a subscriber threw, or what the promise that it returned rejected with. */
export type Report = (error: unknown) => void

/**
 * A stream whose subscribers cannot end the process. RxJS throws a subscriber's error from a timer, which would end the process with every
 * event in memory. No operator can catch it, so `subscribe` wraps each subscriber, and `pipe` returns a stream of the same kind.
 */
export const contained = <T>(inner: Observable<T>, report: Report): Observable<T> => {
  const subscribe = (
    first?: Partial<Observer<T>> | ((value: T) => void) | null,
    error?: ((error: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription => {
    // A Subscriber is RxJS's own: an operator, or `firstValueFrom`.
    if (first instanceof Subscriber) return inner.subscribe(first)
    const given = typeof first === 'function' ? { next: first, error, complete } : (first ?? {})
    return inner.subscribe({
      next: (value) => callSafely((each: T) => given.next?.(each), value, report),
      error: (failure: unknown) =>
        callSafely((each: unknown) => (given.error ?? report)(each), failure, report),
      complete: () => callSafely(() => given.complete?.(), undefined, report),
    })
  }

  const pipe = (...operators: ReadonlyArray<OperatorFunction<never, unknown>>): Observable<never> => {
    // The types of `pipe` say that each operator takes what the one before it gives.
    const through = (before: Observable<unknown>, operator: OperatorFunction<never, unknown>) =>
      operator(before as Observable<never>)
    return contained(operators.reduce<Observable<unknown>>(through, inner) as Observable<never>, report)
  }

  return Object.assign(new Observable<T>(), { subscribe, pipe })
}

/**
 * A hot stream: it flows with and without subscribers. Every subscriber gets every value in the same order, also a value that a subscriber
 * causes. What a subscriber throws goes to `report`.
 */
export const hot = <T>(report: Report) => {
  const subject = new Subject<T>()
  const order = serialQueue()
  const emit = (value: T): void => subject.next(value)
  return {
    next: (value: T): void => {
      // Skip `next` without subscribers: RxJS copies its list of observers all the same, which can be measured.
      if (subject.observed || order.busy()) order.take(emit, value)
    },
    complete: (): void => order.take(() => subject.complete(), undefined),
    /** The stream for the host. */
    values$: contained(subject, report),
  }
}
