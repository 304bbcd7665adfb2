import { isPromiseLike } from '../core/awaitable.ts'
import type { Awaitable } from '../core/awaitable.ts'
import type { Cancel, Clock } from '../core/clock.ts'

/** Questions to a store. */
export interface StoreQueries {
  /** Asks, and goes on with the answer, at once if that is here at once. What the store throws or rejects with goes to who asks. */
  readonly ask: <T, B>(question: () => Awaitable<T>, use: (answer: T) => B) => Awaitable<B>
  /** How many are not answered yet. */
  readonly open: () => number
}

/** Counts the questions that are open, and tells of each that is no longer. */
export const storeQueries = (answered: () => void): StoreQueries => {
  let open = 0
  const close = <T>(go: () => T): T => {
    open--
    try {
      return go()
    } finally {
      answered()
    }
  }
  return {
    ask: (question, use) => {
      const answer = question()
      if (!isPromiseLike(answer)) return use(answer)
      open++
      return answer.then(
        (value) => close(() => use(value)),
        (error: unknown) =>
          close(() => {
            throw error
          }),
      )
    },
    open: () => open,
  }
}

/** Something to be written to a store. */
export interface Write {
  readonly make: () => Awaitable<void>
  /** Goes on when the store has it. */
  readonly then: () => void
  /** Goes on when it was given up, and the store may or may not have it. */
  readonly otherwise: () => void
}

/** Writes to a store that are not committed yet. */
export interface StoreWrites {
  /** Writes, again and again until the store has it or all is given up. */
  readonly commit: (write: Write) => void
  readonly pending: () => number
  /** From now on no failed write is tried again. */
  readonly giveUp: () => void
}

/** A store that failed is asked again after so many milliseconds. */
export const STORE_RETRY_DELAY = 1_000

/** Nothing ends or parks before its store has it, so a failing store holds its items and loses none. */
export const storeWrites = (clock: Clock, defect: (where: string, error: unknown) => void): StoreWrites => {
  const again = new Map<Write, Cancel>()
  let pending = 0
  let givenUp = false

  const drop = (write: Write): void => {
    pending--
    write.otherwise()
  }

  const committed = (write: Write): void => {
    pending--
    write.then()
  }

  const failed = (write: Write, error: unknown): void => {
    defect('outbox', error)
    if (givenUp) drop(write)
    else
      again.set(
        write,
        clock.schedule(STORE_RETRY_DELAY, () => {
          again.delete(write)
          attempt(write)
        }),
      )
  }

  const attempt = (write: Write): void => {
    let answer: Awaitable<void>
    try {
      answer = write.make()
    } catch (error) {
      failed(write, error)
      return
    }
    // A store in memory answers at once: then no function is made for what comes later.
    if (!isPromiseLike(answer)) {
      committed(write)
      return
    }
    answer.then(
      () => {
        committed(write)
      },
      (error: unknown) => {
        failed(write, error)
      },
    )
  }

  return {
    commit: (write) => {
      pending++
      attempt(write)
    },
    pending: () => pending,
    giveUp: () => {
      givenUp = true
      const dropped = [...again]
      again.clear()
      for (const [write, cancel] of dropped) {
        cancel()
        drop(write)
      }
    },
  }
}
