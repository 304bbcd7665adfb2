/** What a law is, and the two ways in which one can fail. */
import { inspect, isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'

/** A law over one implementation. */
export interface Law {
  readonly id: string
  /** Throws, with a smallest counterexample, when the implementation breaks the law. */
  readonly check: () => void
  /** Whether the implementation breaks it; for mutants, where the counterexample need not be small. Default 1,000 runs. */
  readonly fails: (runs?: number) => boolean
}

const RUNS = { numRuns: 1_000 }

export const law = <T>(id: string, property: fc.IProperty<T>): Law => ({
  id,
  check: () => {
    fc.assert(property, RUNS)
  },
  fails: (runs = RUNS.numRuns) => fc.check(property, { numRuns: runs, endOnFailure: true }).failed,
})

export const same = (actual: unknown, expected: unknown): void => {
  if (isDeepStrictEqual(actual, expected)) return
  throw new Error(`expected ${inspect(expected, { depth: 9 })}, found ${inspect(actual, { depth: 9 })}`)
}

export const holds = (fact: boolean, what: string): void => {
  if (!fact) throw new Error(what)
}
