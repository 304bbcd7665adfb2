import { filter } from 'rxjs'
import type { Clock } from '../core/clock.ts'
import type { Totals } from '../core/totals.ts'
import type { Relay } from './relay.ts'

/** The result of a close. */
export interface CloseResult<A> {
  readonly totals: Totals
  /** Items without an outcome, undelivered. Empty with a durable outbox, which keeps them. */
  readonly abandoned: ReadonlyArray<A>
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
  const until = (isReached: () => boolean, within: number): Promise<void> =>
    new Promise((resolve) => {
      if (isReached()) {
        resolve()
        return
      }
      const done = (): void => {
        cancelTimer()
        changes.unsubscribe()
        resolve()
      }
      const cancelTimer = clock.schedule(within, done)
      const changes = relay.changes$.pipe(filter(isReached)).subscribe({ next: done, error: done })
    })
  const isWorkDone = (): boolean => !relay.hasWorkBefore(closeAt)

  relay.stopAccepting()
  await until(isWorkDone, timeout)
  relay.stopStarting()
  await until(() => isWorkDone() && relay.running() === 0, lastAttempt)
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
