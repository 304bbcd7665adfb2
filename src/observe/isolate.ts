import { isPromiseLike } from '../internal/Awaitable.ts'
import type { Awaitable } from '../internal/Awaitable.ts'

const ignore = (): void => undefined

const failing =
  <A>(fail: (error: unknown, input: A) => void, input: A) =>
  (error: unknown): void => {
    try {
      fail(error, input)
    } catch {
      // Whoever is told of failures failed: nobody is left to tell.
    }
  }

/**
 * Calls somebody else's function with `input`, so that nothing it does wrong harms us: what it throws, and what a promise it answers
 * rejects with, goes to `fail`, with the input, and if `fail` throws too, that was the last of it (CL5).
 */
export const isolate = <A>(
  call: (input: A) => unknown,
  input: A,
  fail: (error: unknown, input: A) => void,
): void => {
  // Called several times for each event: nothing is made that is not needed.
  try {
    const answer: Awaitable<unknown> = call(input)
    if (isPromiseLike(answer)) answer.then(ignore, failing(fail, input))
  } catch (error) {
    failing(fail, input)(error)
  }
}
