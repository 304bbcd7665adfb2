import { isPromiseLike } from '../../internal/Awaitable.ts'
import type { Awaitable } from '../../internal/Awaitable.ts'

/** Questions to a store. */
export interface Questions {
  /** Asks, and goes on with the answer, at once if that is here at once. What the store throws or rejects with goes to who asks. */
  readonly ask: <T, B>(question: () => Awaitable<T>, use: (answer: T) => B) => Awaitable<B>
  /** How many are not answered yet. */
  readonly open: () => number
}

/** Counts the questions that are open, and tells of each that is no longer. */
export const questions = (answered: () => void): Questions => {
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
