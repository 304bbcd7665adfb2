import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openDestination } from '../../src/destination/createDestination.ts'
import { destinationLaws, nothingReached } from '../laws/destination.ts'
import { destinationMutants } from '../mutants/destination.ts'

describe('a destination', () => {
  it('keeps its laws in 1,000 worlds, and the worlds reach what matters', async () => {
    const reached = nothingReached()
    await fc.assert(destinationLaws(openDestination, reached), { numRuns: 1_000 })
    const share = (count: number): number => count / reached.worlds
    expect(reached.worlds).toBe(1_000)
    expect(share(reached.delivered)).toBeGreaterThan(0.2)
    expect(share(reached.rejected)).toBeGreaterThan(0.02)
    expect(share(reached.expired)).toBeGreaterThan(0.1)
    expect(share(reached.abandoned)).toBeGreaterThan(0.1)
    expect(share(reached.refused)).toBeGreaterThan(0.1)
    expect(share(reached.orderedPairs)).toBeGreaterThan(0.1)
    expect(share(reached.timedOut)).toBeGreaterThan(0.05)
  }, 60_000)

  it.each(Object.entries(destinationMutants))(
    'that %s is caught',
    async (_, mutant) => {
      const { failed } = await fc.check(destinationLaws(mutant), { numRuns: 1_000, endOnFailure: true })
      expect(failed).toBe(true)
    },
    60_000,
  )
})
