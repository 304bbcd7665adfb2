import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createClient } from '../../src/client/createClient.ts'
import { clientLaws } from '../laws/client.ts'
import { nothingReached } from '../laws/clientReach.ts'
import { clientMutants } from '../mutants/client.ts'

describe('a client', () => {
  it('keeps its laws in 1,000 worlds, and the worlds reach what matters', async () => {
    const reached = nothingReached()
    await fc.assert(clientLaws(createClient, reached), { numRuns: 1_000 })
    const { worlds, ...counts } = reached
    expect(worlds).toBe(1_000)
    const rare = Object.entries(counts).filter(([, count]) => count < 50)
    expect(rare).toEqual([])
    const { delivered, rejected, expired, dropped, abandoned, full, retried } = reached
    for (const count of [delivered, rejected, expired, dropped, abandoned, full, retried])
      expect(count).toBeGreaterThan(100)
  }, 120_000)

  it.each(Object.entries(clientMutants))(
    'that %s is caught',
    async (_, mutant) => {
      const { failed } = await fc.check(clientLaws(mutant), { numRuns: 1_000, endOnFailure: true })
      expect(failed).toBe(true)
    },
    120_000,
  )
})
