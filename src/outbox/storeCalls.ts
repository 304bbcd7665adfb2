import { isPromiseLike } from '../core/awaitable.ts'
import type { Awaitable } from '../core/awaitable.ts'
import type { Cancel, Clock } from '../core/clock.ts'

/** A result that must reach the store. */
export interface Save {
  readonly run: () => Awaitable<void>
  readonly saved: () => void
  /** `stopRetrying` was called before the store confirmed: the store may or may not have the result. */
  readonly gaveUp: () => void
}

/** The calls to an outbox that are not answered yet. */
export interface StoreCalls {
  /** Calls the store once and passes its answer on, at once if it is not a promise. */
  readonly call: <T, B>(run: () => Awaitable<T>, use: (answer: T) => B) => Awaitable<B>
  /** Saves a result, and repeats that every second until the store confirms it. */
  readonly save: (save: Save) => void
  readonly stopRetrying: () => void
  /** Results that are not saved yet. */
  readonly unsaved: () => number
  readonly isBusy: () => boolean
}

/** The pause after an error of the store, in milliseconds. */
export const STORE_RETRY_DELAY = 1_000

export const storeCalls = (
  clock: Clock,
  failed: (error: unknown) => void,
  changed: () => void,
): StoreCalls => {
  const retryTimers = new Map<Save, Cancel>()
  let calls = 0
  let unsaved = 0
  let mayRetry = true

  const confirm = (save: Save): void => {
    unsaved--
    save.saved()
  }

  const giveUp = (save: Save): void => {
    unsaved--
    save.gaveUp()
  }

  const saveFailed = (save: Save, error: unknown): void => {
    failed(error)
    if (!mayRetry) {
      giveUp(save)
      return
    }
    const retry = (): void => {
      retryTimers.delete(save)
      attempt(save)
    }
    retryTimers.set(save, clock.schedule(STORE_RETRY_DELAY, retry))
  }

  const attempt = (save: Save): void => {
    let answer: Awaitable<void>
    try {
      answer = save.run()
    } catch (error) {
      saveFailed(save, error)
      return
    }
    // A store in memory answers at once: no functions are made for a later answer.
    if (!isPromiseLike(answer)) {
      confirm(save)
      return
    }
    answer.then(
      () => confirm(save),
      (error: unknown) => saveFailed(save, error),
    )
  }

  return {
    call: (run, use) => {
      const answer = run()
      if (!isPromiseLike(answer)) return use(answer)
      calls++
      const answered = <T>(next: () => T): T => {
        calls--
        try {
          return next()
        } finally {
          changed()
        }
      }
      return answer.then(
        (value) => answered(() => use(value)),
        (error: unknown) =>
          answered(() => {
            throw error
          }),
      )
    },
    save: (save) => {
      unsaved++
      attempt(save)
    },
    stopRetrying: () => {
      mayRetry = false
      const waiting = [...retryTimers]
      retryTimers.clear()
      for (const [save, cancel] of waiting) {
        cancel()
        giveUp(save)
      }
    },
    unsaved: () => unsaved,
    isBusy: () => calls + unsaved > 0,
  }
}
