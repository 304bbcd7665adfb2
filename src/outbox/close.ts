import { NEVER, Observable, filter, firstValueFrom, map, takeUntil } from 'rxjs'
import type { Clock } from '../core/clock.ts'
import type { Totals } from '../core/totals.ts'
import type { Relay } from './relay.ts'

/** The result of a close. @inline */
export interface CloseResult<A> {
  readonly totals: Totals
  /** Items without an outcome, undelivered. Empty with a durable outbox, which keeps them. */
  readonly abandoned: ReadonlyArray<A>
}

/** Waits until `isReached`, at most `limit` milliseconds. Answers whether it was reached. */
export const until = (
  clock: Clock,
  changes$: Observable<void>,
  limit: number,
  isReached: () => boolean,
): Promise<boolean> => {
  if (isReached()) return Promise.resolve(true)
  const over$ = new Observable<void>((over) => clock.schedule(limit, () => over.next()))
  const reached$ = changes$.pipe(filter(isReached), takeUntil(limit === Infinity ? NEVER : over$))
  return firstValueFrom(reached$.pipe(map(() => true)), { defaultValue: false })
}

/**
 * Closes a relay: accepts nothing more, starts deliveries for at most `timeout` milliseconds, lets those in flight run for at most
 * `lastAttempt` more, and hands back the rest. Retry delays are not shortened: it ends early when nothing more can start in time.
 */
export const closeRelay = async <A>(
  relay: Relay<A>,
  clock: Clock,
  timeout: number,
  lastAttempt: number,
): Promise<CloseResult<A>> => {
  const closeAt = relay.now() + timeout
  const { changes$ } = relay
  const isWorkDone = (): boolean => !relay.hasWorkBefore(closeAt)

  relay.stopAccepting()
  await until(clock, changes$, timeout, isWorkDone)
  relay.stopStarting()
  await until(clock, changes$, lastAttempt, () => isWorkDone() && relay.running() === 0)
  const abandoned = await new Promise<ReadonlyArray<A>>((resolve) => {
    // A store that never answers must not keep the process alive.
    const cancelTimer = clock.schedule(lastAttempt, () => resolve([]))
    relay.abort((unfinished) => {
      cancelTimer()
      resolve(unfinished)
    })
  })
  return { totals: relay.totals(), abandoned }
}
