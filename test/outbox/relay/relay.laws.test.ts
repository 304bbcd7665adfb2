import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { relay } from '../../../src/outbox/relay.ts'
import { nothingReached, relayLaws } from '../../laws/relay.ts'
import { relayMutants } from '../../mutants/relay.ts'

describe('relay, over an outbox that survives crashes', () => {
  it('keeps its laws in 1,000 worlds, and the worlds reach what matters', async () => {
    const reached = nothingReached()
    await fc.assert(relayLaws(relay, reached), { numRuns: 1_000 })
    const share = (count: number): number => count / reached.worlds
    expect(reached.worlds).toBe(1_000)
    expect(share(reached.crashInRound)).toBeGreaterThan(0.2)
    expect(share(reached.delivered)).toBeGreaterThan(0.3)
    expect(share(reached.rejected)).toBeGreaterThan(0.05)
    expect(share(reached.expired)).toBeGreaterThan(0.2)
    expect(share(reached.remembered)).toBeGreaterThan(0.1)
    expect(share(reached.defects)).toBeGreaterThan(0.2)
    expect(share(reached.slowStore)).toBeGreaterThan(0.3)
  })

  it.each(Object.entries(relayMutants))('a relay that %s is caught', async (_, mutant) => {
    const { failed } = await fc.check(relayLaws(mutant), { numRuns: 1_000, endOnFailure: true })
    expect(failed).toBe(true)
  })
})
