import type { Observable } from 'rxjs'
import { isPromiseLike, whenAnswered } from '../core/awaitable.ts'
import { scheduleSafely, type Clock } from '../core/clock.ts'
import type { Outcome } from '../core/outcome.ts'
import { nothingToCancel } from '../sink/layer.ts'
import type { Entry, Outbox } from './outbox.ts'
import type { StoreLimit } from './storeLimit.ts'

/**
 * Hands back what an outbox does not keep: waits for open store calls, takes out the rest, and calls `finish` with all of it. After
 * `timeout` milliseconds the calls that are open fail, and nothing waits for the store any more.
 *
 * @param leased takes out the entries that were leased and are not kept
 */
export const handBack = <A>(
  outbox: Outbox<A>,
  limit: StoreLimit,
  clock: Clock,
  timeout: number,
  changes$: Observable<void>,
  isStoreBusy: () => boolean,
  leased: () => ReadonlyArray<Entry<A>>,
  endOf: (entry: Entry<A>) => Outcome<A>,
  failed: (error: unknown) => void,
  finish: (leased: ReadonlyArray<Entry<A>>, remaining: ReadonlyArray<Entry<A>>) => void,
): void => {
  const giveUp = (): void => limit.giveUp(new Error('it was closed before the store answered'))
  const cancel = timeout === Infinity ? nothingToCancel : scheduleSafely(clock, timeout, giveUp, failed)

  const whenIdle = (): void => {
    if (isStoreBusy()) return
    idle.unsubscribe()
    const mine = leased()
    const acks = mine.map((entry) => ({ entry, outcome: endOf(entry) }))
    if (acks.length > 0)
      whenAnswered(
        () => outbox.ack(acks),
        () => undefined,
        failed,
      )
    const finishWith = (remaining: ReadonlyArray<Entry<A>>): void => {
      cancel()
      finish(mine, remaining)
    }
    whenAnswered(
      () => {
        const remaining = outbox.takeRemaining()
        return isPromiseLike(remaining) ? limit.inTime(remaining) : remaining
      },
      finishWith,
      (error) => {
        failed(error)
        finishWith([])
      },
    )
  }
  const idle = changes$.subscribe({ next: whenIdle, error: failed })
  whenIdle()
}
