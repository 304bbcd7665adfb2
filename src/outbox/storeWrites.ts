import { isPromiseLike } from '../core/awaitable.ts'
import type { Awaitable } from '../core/awaitable.ts'
import type { Cancel, Clock } from '../core/clock.ts'

/** The pause after an error of the store, in milliseconds. */
export const STORE_RETRY_DELAY = 1_000

/** Results that must reach the store. `gaveUp` gets what the store has not confirmed: it may or may not have it. */
export const storeWrites = <W>(
  clock: Clock,
  run: (write: W) => Awaitable<void>,
  saved: (write: W) => void,
  failed: (error: unknown) => void,
  gaveUp: (write: W) => void,
) => {
  const retryTimers = new Map<W, Cancel>()
  let unsaved = 0
  let mayRetry = true

  const end = (write: W, report: (write: W) => void): void => {
    unsaved--
    report(write)
  }

  const writeFailed = (write: W, error: unknown): void => {
    failed(error)
    const retry = (): void => {
      retryTimers.delete(write)
      attempt(write)
    }
    if (mayRetry) retryTimers.set(write, clock.schedule(STORE_RETRY_DELAY, retry))
    else end(write, gaveUp)
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
    if (!isPromiseLike(answer)) end(write, saved)
    else
      answer.then(
        () => end(write, saved),
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
      mayRetry = false
      const waiting = [...retryTimers]
      retryTimers.clear()
      for (const [write, cancel] of waiting) {
        cancel()
        end(write, gaveUp)
      }
    },
    /** Results that the store has not confirmed. */
    unsaved: (): number => unsaved,
  }
}
