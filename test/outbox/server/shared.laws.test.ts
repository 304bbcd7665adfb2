import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nothingReached, sharedLaws } from '../../laws/sharedOutbox.ts'
import { brokerPlace, tablePlace } from './places.ts'

describe('two relays over one store keep their laws in 300 worlds, and the worlds reach what matters', () => {
  it.each([
    ['a table with leases', tablePlace, true],
    ['a broker that pushes', brokerPlace, false],
  ])('%s', async (_, place, exact) => {
    const reached = nothingReached()
    await fc.assert(sharedLaws({ place }, { exact, reached }), { numRuns: 300 })
    const share = (count: number): number => count / reached.worlds
    expect(reached.worlds).toBeGreaterThanOrEqual(300)
    expect(share(reached.calm)).toBeGreaterThan(0.3)
    expect(share(reached.shared)).toBeGreaterThan(0.4)
    expect(share(reached.handedOver)).toBeGreaterThan(0.2)
    expect(share(reached.rolledBack)).toBeGreaterThan(0.4)
    expect(share(reached.committed)).toBeGreaterThan(0.4)
    expect(share(reached.died)).toBeGreaterThan(0.1)
    expect(share(reached.inDoubt)).toBeGreaterThan(0.02)
  })
})
