import type { Cancel, Clock } from '../clock/Clock.ts'
import { whenAnswered } from '../internal/Awaitable.ts'
import type { Awaitable } from '../internal/Awaitable.ts'

/** Writes to a store that are not committed yet. */
export interface Writes {
  /** Writes, again and again until the store has it, and then goes on with `then`. */
  readonly commit: (write: () => Awaitable<void>, then: () => void) => void
  readonly pending: () => number
  /** Tries no failed write again. */
  readonly giveUp: () => void
}

/** A store that failed is asked again after so many milliseconds. */
export const ASK_AGAIN_AFTER = 1_000

/** Nothing ends or parks before its store has it, so a failing store holds its items and loses none. */
export const writes = (clock: Clock, failed: (error: unknown) => void): Writes => {
  const again = new Set<Cancel>()
  let pending = 0
  let givenUp = false

  const attempt = (write: () => Awaitable<void>, then: () => void): void => {
    const retry = (error: unknown): void => {
      failed(error)
      if (givenUp) {
        pending--
        return
      }
      const cancel = clock.schedule(ASK_AGAIN_AFTER, () => {
        again.delete(cancel)
        attempt(write, then)
      })
      again.add(cancel)
    }
    whenAnswered(
      write,
      () => {
        pending--
        then()
      },
      retry,
    )
  }

  return {
    commit: (write, then) => {
      pending++
      attempt(write, then)
    },
    pending: () => pending,
    giveUp: () => {
      givenUp = true
      for (const cancel of again) cancel()
      pending -= again.size
      again.clear()
    },
  }
}
