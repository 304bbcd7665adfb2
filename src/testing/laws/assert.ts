import { inspect, isDeepStrictEqual } from 'node:util'

/** Throws an error that shows both values, unless they are deeply equal. For the checks of laws. */
export const same = (actual: unknown, expected: unknown): void => {
  if (isDeepStrictEqual(actual, expected)) return
  throw new Error(`expected ${inspect(expected, { depth: 9 })}, found ${inspect(actual, { depth: 9 })}`)
}

/** Throws `what` as an error, unless the fact is true. For the checks of laws. */
export const holds = (fact: boolean, what: string): void => {
  if (!fact) throw new Error(what)
}
