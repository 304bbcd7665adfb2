import { isPromiseLike } from '../core/awaitable.ts'
import type { Awaitable } from '../core/awaitable.ts'
import { scheduleSafely } from '../core/clock.ts'
import type { Cancel, Clock } from '../core/clock.ts'
import type { Outbox } from './outbox.ts'
import type { StoreLimit } from './storeLimit.ts'

/** The pause after an error of the store, in milliseconds. */
export const STORE_RETRY_DELAY = 1_000

/** As `nextDue` of the outbox. If that throws, it is asked again after the pause. */
export const nextDueOf = (
  outbox: Pick<Outbox<never>, 'nextDue'>,
  retriesOnly: boolean,
  now: () => number,
  failed: (error: unknown) => void,
): number | undefined => {
  try {
    return outbox.nextDue(retriesOnly)
  } catch (error) {
    failed(error)
    return now() + STORE_RETRY_DELAY
  }
}

/** Results that must reach the store. `gaveUp` gets what the store has not confirmed: it may or may not have it. */
export const storeWrites = <W>(
  clock: Clock,
  run: (write: W) => Awaitable<void>,
  saved: (write: W) => void,
  failed: (error: unknown) => void,
  gaveUp: (write: W) => void,
  { inTime }: StoreLimit,
) => {
  const toRepeat: W[] = []
  let cancelTimer: Cancel | undefined
  let unsaved = 0
  let mayRepeat = true

  const giveUp = (): void => {
    for (const write of toRepeat.splice(0)) {
      unsaved--
      gaveUp(write)
    }
  }

  const repeat = (): void => {
    cancelTimer = undefined
    toRepeat.splice(0).forEach(attempt)
  }

  const writeFailed = (write: W, error: unknown): void => {
    failed(error)
    toRepeat.push(write)
    if (!mayRepeat) giveUp()
    else cancelTimer ??= scheduleSafely(clock, STORE_RETRY_DELAY, repeat, failed)
  }

  const confirmed = (write: W): void => {
    unsaved--
    saved(write)
  }

  const attempt = (write: W): void => {
    let answer: Awaitable<void>
    try {
      answer = run(write)
    } catch (error) {
      writeFailed(write, error)
      return
    }
    // A store in memory answers at once: no functions are made for a later answer.
    if (!isPromiseLike(answer)) confirmed(write)
    else
      inTime(answer).then(
        () => confirmed(write),
        (error: unknown) => writeFailed(write, error),
      )
  }

  return {
    /** Writes a result, and repeats that every second until the store confirms it. */
    save: (write: W): void => {
      unsaved++
      attempt(write)
    },
    /** Gives up what waits for its repetition, and from now on what fails. */
    stopRetrying: (): void => {
      mayRepeat = false
      cancelTimer?.()
      giveUp()
    },
    /** Results that the store has not confirmed. */
    unsaved: (): number => unsaved,
  }
}
