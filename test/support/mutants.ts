import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Law } from './check.ts'

/** Shows that laws bite: each mutant, which has one fault, must break the law that is named beside it. */
export const itCatches = <Make>(
  what: string,
  laws: (make: Make) => ReadonlyArray<Law>,
  mutants: Readonly<Record<string, readonly [law: string, make: Make]>>,
): void => {
  describe(`the laws of ${what}`, () => {
    it.each(Object.entries(mutants).map(([fault, [law, make]]) => ({ fault, law, make })))(
      '$law is broken if $fault',
      async ({ law, make }) => {
        const asked = laws(make).filter(({ id }) => id.startsWith(`${law} `))
        // At least 1,000 runs: few worlds meet a rare fault.
        const results = await Promise.all(
          asked.map(({ property }) => fc.check(property, { numRuns: 1_000, endOnFailure: true })),
        )
        expect(results.map(({ failed }) => failed)).toEqual([true])
      },
    )
  })
}
