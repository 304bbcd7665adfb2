/** A value, or a promise of it. A store in memory answers at once; one on disk after the commit. */
export type Awaitable<T> = T | PromiseLike<T>

/** Whether the value is still to come. */
export const isPromiseLike = <T>(value: Awaitable<T>): value is PromiseLike<T> =>
  // Reading `then` and not `'then' in value`: that is slow for values of many shapes (0.8 µs an event).
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'

/** Uses an answer at once if it is here, else when its promise is fulfilled. */
export const whenDone = <T, B>(answer: Awaitable<T>, use: (answer: T) => B): Awaitable<B> =>
  isPromiseLike(answer) ? answer.then(use) : use(answer)

/** For a promise that nothing will read: its rejection would end the process. */
export const ignoreRejection = (value: unknown): void => {
  if (value instanceof Promise) value.catch(() => undefined)
}

/**
 * Asks, and calls `use` at once if the value is here, else when its promise is fulfilled. `fail` gets an
 * error or a rejection of the call. Answers the result of `use` or `fail`, if it is here at once.
 */
export const whenAnswered = <T, B>(
  ask: () => Awaitable<T>,
  use: (value: T) => B,
  fail: (error: unknown) => B,
): B | undefined => {
  let answer: Awaitable<T>
  try {
    answer = ask()
  } catch (error) {
    return fail(error)
  }
  if (!isPromiseLike(answer)) return use(answer)
  answer.then(use, fail)
  return undefined
}
