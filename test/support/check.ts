import type * as fc from 'fast-check'
import { inspect, isDeepStrictEqual } from 'node:util'

/** A property under a name that begins with its id, such as `Q1 …`. */
export interface Law {
  readonly id: string
  readonly property: fc.IAsyncProperty<unknown>
}

/** Throws unless both are deeply equal. Cheaper than `expect` inside properties. */
export const same = (actual: unknown, expected: unknown): void => {
  if (isDeepStrictEqual(actual, expected)) return
  throw new Error(`expected ${inspect(expected, { depth: 9 })}, found ${inspect(actual, { depth: 9 })}`)
}

/** Throws unless the fact is true. */
export const holds = (fact: boolean, what: string): void => {
  if (!fact) throw new Error(what)
}

/** Resolves after this many turns of the event loop. */
export const turns = async (count = 1): Promise<void> => {
  for (let i = 0; i < count; i++) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve)
    })
  }
}
