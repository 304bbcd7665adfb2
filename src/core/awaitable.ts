/**
 * A value that is here already, or a promise of it. A store in memory answers at once and costs no microtask; one on
 * disk answers when the write has been committed.
 */
export type Awaitable<T> = T | PromiseLike<T>

/** Whether the value is still to come. */
export const isPromiseLike = <T>(value: Awaitable<T>): value is PromiseLike<T> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'

/** Goes on with `use` at once when the value is here, else when its promise is fulfilled; `fail` gets what it rejects with. */
export const whenSettled = <T>(
  value: Awaitable<T>,
  use: (value: T) => void,
  fail: (error: unknown) => void,
): void => {
  if (isPromiseLike(value)) value.then(use, fail)
  else use(value)
}

/**
 * Asks, and goes on as `whenSettled` does; what `ask` throws goes to `fail` too. What `use` throws is nobody's but its own. Answers what
 * they answer, if that is here at once.
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

/** As much of a message as is kept with a failure: it is stored with the item, and a page of HTML helps nobody. */
const LONGEST = 300

const textOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const own = error.message === '' ? error.name : error.message
  return error.cause instanceof Error && error.cause.message !== '' ? `${own}: ${error.cause.message}` : own
}

/** What an error says, in one short text and without its stack: its message, and its cause's (`fetch failed` alone says nothing). */
export const messageOf = (error: unknown): string => {
  try {
    const text = textOf(error)
    return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
  } catch {
    return 'an error that cannot be read'
  }
}
