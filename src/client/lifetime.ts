/**
 * What waits for a client: calls, and the process while it holds messages.
 *
 * @module
 */
import { NEVER, Observable, Subject, filter, firstValueFrom, fromEvent, map, merge, share } from 'rxjs'
import type { Subscription } from 'rxjs'
import { systemClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import { callSafely } from '../log/listeners.ts'

/** The longest timer. It is cancelled long before. */
const FOREVER = 2_147_483_647

/** Keeps the process alive until the promise is settled: the timers and sockets of a client do not. */
export const held = <T>(promise: Promise<T>): Promise<T> =>
  promise.finally(systemClock.schedule(FOREVER, () => undefined))

/** The changes of a client, for calls that wait. */
export const changes = (clock: Clock) => {
  const changed$ = new Subject<void>()
  return {
    changed: (): void => {
      if (changed$.observed) changed$.next()
    },
    /** Waits until `isReached`, at most `limit` milliseconds. Answers whether it was reached. */
    until: (limit: number, isReached: () => boolean): Promise<boolean> => {
      if (isReached()) return Promise.resolve(true)
      const reached$ = changed$.pipe(
        filter(isReached),
        map(() => true),
      )
      const over$ = new Observable<boolean>((over) => clock.schedule(limit, () => over.next(false)))
      const first$ = merge(reached$, limit === Infinity ? NEVER : over$)
      return firstValueFrom(first$, { defaultValue: false })
    },
  }
}

/** When the program has nothing left to do. All clients share one listener: Node warns of more than ten. */
const beforeExit$ = fromEvent(process, 'beforeExit').pipe(share())

/**
 * Binds a client to its process while it is busy.
 *
 * @param drain is called when the program has nothing left to do and messages wait; undefined to let it go
 * @param failed receives errors of `waitUntil`
 */
export const lifetime = (
  waitUntil: ((ended: Promise<unknown>) => void) | undefined,
  drain: (() => void) | undefined,
  failed: (error: unknown) => void,
) => {
  const idle$ = new Subject<void>()
  let exit: Subscription | undefined
  let isBusy = false

  return {
    /** Messages wait. */
    busy: (): void => {
      if (isBusy) return
      isBusy = true
      exit = drain && beforeExit$.subscribe({ next: drain, error: failed })
      if (waitUntil === undefined) return
      callSafely(waitUntil, firstValueFrom(idle$, { defaultValue: undefined }), failed)
    },
    /** No message waits that will end. */
    idle: (): void => {
      if (!isBusy) return
      isBusy = false
      exit?.unsubscribe()
      idle$.next()
    },
  }
}
