import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createCollector } from '../../src/collector/createCollector.ts'
import { collectorLaws, nothingReached } from '../laws/collector.ts'
import { collectorMutants } from '../mutants/collector.ts'

describe('a collector', () => {
  it('keeps its laws in 500 worlds, and the worlds reach what matters', async () => {
    const reached = nothingReached()
    await fc.assert(collectorLaws(createCollector, reached), { numRuns: 500 })
    const share = (count: number): number => count / reached.worlds
    expect(reached.worlds).toBe(500)
    expect(share(reached.partial)).toBeGreaterThan(0.3)
    expect(share(reached.buried)).toBeGreaterThan(0.05)
    expect(share(reached.refusedWhole)).toBeGreaterThan(0.025)
    expect(share(reached.unrouted)).toBeGreaterThan(0.2)
    expect(share(reached.notRouted)).toBeGreaterThan(0.2)
    expect(share(reached.deletions)).toBeGreaterThan(0.07)
    expect(share(reached.off)).toBeGreaterThan(0.1)
  }, 60_000)

  it.each(Object.entries(collectorMutants))(
    'that %s is caught',
    async (_, mutant) => {
      const { failed } = await fc.check(collectorLaws(mutant), { numRuns: 1_000, endOnFailure: true })
      expect(failed).toBe(true)
    },
    60_000,
  )
})
