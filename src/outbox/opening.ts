import { constVoid } from '../core/either.ts'
import type { Awaitable } from '../core/awaitable.ts'
import { scheduleSafely, type Clock } from '../core/clock.ts'
import { nothingToCancel } from '../sink/layer.ts'
import type { Outbox } from './outbox.ts'
import { storeLimit } from './storeLimit.ts'
import { STORE_RETRY_DELAY } from './storeWrites.ts'

/**
 * Opens an outbox that opens later: asks it, and again a second after each failure. `opened` is called once;
 * not at all if it is open from the start.
 */
export const opening = (
  outbox: Pick<Outbox<unknown>, 'opened'>,
  clock: Clock,
  opened: () => void,
  failed: (error: unknown) => void,
) => {
  let state: 'opens' | 'open' | 'closed' = outbox.opened === undefined ? 'open' : 'opens'
  const limit = storeLimit()
  let cancel = nothingToCancel
  let resolve = constVoid
  const isOpen = new Promise<void>((done) => {
    resolve = done
  })

  const succeeded = (): void => {
    if (state !== 'opens') return
    state = 'open'
    cancel()
    resolve()
    opened()
  }
  const ask = (): void => {
    const answer = Promise.resolve().then(() => outbox.opened?.())
    // An answer that comes too late counts all the same.
    limit
      .inTime(answer, succeeded)
      .then(succeeded)
      .catch((error: unknown) => {
        if (state !== 'closed') failed(error)
        if (state === 'opens') cancel = scheduleSafely(clock, STORE_RETRY_DELAY, ask, failed)
      })
  }
  if (state === 'opens') ask()

  return {
    isOpen: (): boolean => state === 'open',
    /** Makes a call when it is open. Rejects if that takes too long, or it is closed, and does not call. */
    whenOpen: <T>(call: () => Awaitable<T>): Awaitable<T> =>
      state === 'open' ? call() : limit.inTime(isOpen, constVoid, failed).then(call),
    /** Fails the calls that wait. It opens no more. */
    stop: (): void => {
      if (state !== 'opens') return
      state = 'closed'
      cancel()
      const error = new Error('it was closed before the store was open')
      failed(error)
      limit.giveUp(error)
    },
  }
}
