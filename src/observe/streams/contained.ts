import { Observable, Subscriber } from 'rxjs'
import type { Observer, OperatorFunction, Subscription } from 'rxjs'
import { isolate } from '../isolate.ts'

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
