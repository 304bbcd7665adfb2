import { whenSettled } from '../internal/Awaitable.ts'

/**
 * Calls somebody else's function with `input`, so that nothing it does wrong harms us: what it throws, and what a promise it answers
 * rejects with, goes to `fail`, and if `fail` throws too, that was the last of it (CL5).
 */
export const isolate = <A>(call: (input: A) => unknown, input: A, fail: (error: unknown) => void): void => {
  const contained = (error: unknown): void => {
    try {
      fail(error)
    } catch {
      // Whoever is told of failures failed: nobody is left to tell.
    }
  }
  try {
    whenSettled(call(input), () => undefined, contained)
  } catch (error) {
    contained(error)
  }
}
