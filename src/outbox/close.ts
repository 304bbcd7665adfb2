import type { Totals } from '../core/outcome.ts'
import type { Relay } from './relay.ts'

/** The result of a close. @inline */
export interface CloseResult<A> {
  readonly totals: Totals
  /** Undelivered items, which end as `Abandoned`. Empty with a durable outbox, which keeps them. */
  readonly abandoned: ReadonlyArray<A>
}

/** Milliseconds before the end of a close in which nothing starts, and after it for what still runs. */
export const LAST_ATTEMPT = 500

/**
 * Closes a relay that accepts nothing more: starts deliveries until shortly before `timeout` milliseconds
 * are over, cuts what still runs shortly after, and hands back the rest. Retry delays are not shortened: it
 * ends early when nothing more can start in time, or what a shared outbox held has ended. `stopped` is called
 * when nothing more may start. At the exit of the program nothing is waited for that runs.
 */
export const closeRelay = async <A, D>(
  relay: Relay<A, D>,
  timeout: number,
  storeTimeout: number,
  stopped: () => void,
  isExit = false,
): Promise<CloseResult<A>> => {
  const starting = Math.max(0, timeout - LAST_ATTEMPT)
  const ending = LAST_ATTEMPT + Math.min(timeout, LAST_ATTEMPT)
  const stopAt = relay.now() + starting
  const hasWork = (): boolean => relay.hasWorkBefore(stopAt)
  const isOver = relay.allEnded()

  // Retries may be due since the machine slept.
  relay.poll()
  await relay.until(() => !hasWork() || isOver(), starting)
  if (hasWork() && isOver()) relay.stopStarting()
  // Requests to the siblings of a sink that succeeded may go on, for as long as one attempt may take.
  await relay.until(() => relay.running() === 0, Math.max(0, Math.min(stopAt - relay.now(), storeTimeout)))
  relay.stopStarting()
  stopped()
  await relay.until(relay.isSettled, isExit ? 0 : ending)
  const abandoned = await new Promise<ReadonlyArray<A>>((resolve) => relay.abort(resolve, storeTimeout))
  return { totals: relay.totals(), abandoned }
}
