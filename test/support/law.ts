/** A law: a property with a name, which an implementation keeps or breaks. */
import { inspect, isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { runs } from './runs.ts'

/** A law over one implementation. */
export interface Law {
  readonly id: string
  /** Throws, with a smallest counterexample, when the implementation breaks the law. */
  readonly check: () => void
  /** Whether the implementation breaks it. For mutants: the counterexample is not shrunk. Default 1,000 runs. */
  readonly fails: (most?: number) => boolean
}

/** `share` of the runs of the profile; below 1 for a law that takes long. */
export const law = <T>(id: string, property: fc.IProperty<T>, share = 1): Law => ({
  id,
  check: () => fc.assert(property, { numRuns: runs(share) }),
  fails: (most = 1_000) => fc.check(property, { numRuns: most, endOnFailure: true }).failed,
})

export const same = (actual: unknown, expected: unknown): void => {
  if (isDeepStrictEqual(actual, expected)) return
  throw new Error(`expected ${inspect(expected, { depth: 9 })}, found ${inspect(actual, { depth: 9 })}`)
}

export const holds = (fact: boolean, what: string): void => {
  if (!fact) throw new Error(what)
}
