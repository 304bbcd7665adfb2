import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Law } from './check.ts'

/** Shows that laws bite: each mutant has one fault. Its name is that of the law that must find it, and the fault. */
export const itCatches = <Make>(
  what: string,
  laws: (make: Make) => ReadonlyArray<Law>,
  mutants: Readonly<Record<`${string}: ${string}`, Make>>,
): void => {
  describe(`each mutant of ${what} breaks its law`, () => {
    it.each(Object.entries<Make>(mutants))('%s', async (name, make) => {
      const asked = laws(make).filter(({ id }) => id.startsWith(name.replace(/:.*/, ' ')))
      // At least 1,000 runs: few worlds meet a rare fault.
      const results = await Promise.all(
        asked.map(({ property }) => fc.check(property, { numRuns: 1_000, endOnFailure: true })),
      )
      expect(results.map(({ failed }) => failed)).toEqual([true])
    })
  })
}

export const altering =
  <Given extends unknown[], Made extends object>(make: (...given: Given) => Made) =>
  (change: (made: Made) => Partial<Made>) =>
  (...given: Given): Made => {
    const made = make(...given)
    return { ...made, ...change(made) }
  }
