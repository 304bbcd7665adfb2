import { isPromiseLike } from '../internal/Awaitable.ts'
import type { Awaitable } from '../internal/Awaitable.ts'

const ignore = (): void => undefined

const failing =
  (fail: (error: unknown) => void) =>
  (error: unknown): void => {
    try {
      fail(error)
    } catch {
      // Whoever is told of failures failed: nobody is left to tell.
    }
  }

/**
 * Calls somebody else's function with `input`, so that nothing it does wrong harms us: what it throws, and what a promise it answers
 * rejects with, goes to `fail`, and if `fail` throws too, that was the last of it (CL5).
 */
export const isolate = <A>(call: (input: A) => unknown, input: A, fail: (error: unknown) => void): void => {
  // Called several times for each event: nothing is made that is not needed.
  try {
    const answer: Awaitable<unknown> = call(input)
    if (isPromiseLike(answer)) answer.then(ignore, failing(fail))
  } catch (error) {
    failing(fail)(error)
  }
}
