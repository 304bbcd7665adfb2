import type { Clock } from '../core/clock.ts'
import type { Totals } from '../core/totals.ts'
import type { Relay } from './relay.ts'

/** The result of a close. */
export interface CloseResult<A> {
  readonly totals: Totals
  /** Items without an outcome, undelivered. Empty with a durable outbox, which keeps them. */
  readonly abandoned: ReadonlyArray<A>
}

/** Waits until `isReached`, at most `timeout` milliseconds. */
const waitFor = (
  { onChange }: Pick<Relay<never>, 'onChange'>,
  clock: Clock,
  timeout: number,
  isReached: () => boolean,
): Promise<void> =>
  new Promise((resolve) => {
    if (isReached()) {
      resolve()
      return
    }
    const done = (): void => {
      cancelTimer()
      stopListening()
      resolve()
    }
    const cancelTimer = clock.schedule(timeout, done)
    const stopListening = onChange(() => {
      if (isReached()) done()
    })
  })

const abort = <A>(relay: Relay<A>, clock: Clock, timeout: number): Promise<ReadonlyArray<A>> =>
  new Promise((resolve) => {
    // A store that never answers must not keep the process alive.
    const cancelTimer = clock.schedule(timeout, () => resolve([]))
    relay.abort((unfinished) => {
      cancelTimer()
      resolve(unfinished)
    })
  })

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
  relay.stopAccepting()
  await waitFor(relay, clock, timeout, () => !relay.hasWorkBefore(closeAt))
  relay.stopStarting()
  await waitFor(relay, clock, lastAttempt, () => !relay.hasWorkBefore(closeAt) && relay.running() === 0)
  const abandoned = await abort(relay, clock, lastAttempt)
  return { totals: relay.totals(), abandoned }
}
