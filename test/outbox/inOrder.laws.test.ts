import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ordered } from '../../src/outbox/ordered.ts'
import { inOrderLaw, nothingReached } from '../laws/inOrder.ts'
import { inOrderBoundedLaw, nothingBoundedReached } from '../laws/inOrderBounded.ts'
import { boundedMutants, inOrderMutants } from '../mutants/inOrder.ts'

describe('inOrder', () => {
  it('keeps its law in 1,000 worlds, and they reach what matters', () => {
    const reached = nothingReached()
    const law = inOrderLaw((outbox, keyOf) => ordered(outbox, { keyOf, defect: () => undefined }), reached)
    fc.assert(law, { numRuns: 1_000 })
    expect(reached.worlds).toBeGreaterThanOrEqual(1_000)
    expect(reached.heldBack).toBeGreaterThan(1_000)
    expect(reached.parkedHead).toBeGreaterThan(300)
    expect(reached.handedBack).toBeGreaterThan(300)
  })

  it.each(Object.entries(inOrderMutants))('an outbox that %s is caught', (_, mutant) => {
    expect(fc.check(inOrderLaw(mutant), { numRuns: 1_000, endOnFailure: true }).failed).toBe(true)
  })
})

describe('inOrder over an outbox that holds more than memory does', () => {
  it('keeps its law in 1,000 worlds, and they reach what matters', async () => {
    const reached = nothingBoundedReached()
    const law = inOrderBoundedLaw(
      (outbox, options) => ordered(outbox, { ...options, defect: () => undefined }),
      reached,
    )
    await fc.assert(law, { numRuns: 1_000 })
    expect(reached.worlds).toBeGreaterThanOrEqual(1_000)
    for (const [name, count] of Object.entries(reached)) expect(count, name).toBeGreaterThan(100)
  })

  it.each(Object.entries(boundedMutants))('an outbox that %s is caught', async (_, mutant) => {
    const { failed } = await fc.check(inOrderBoundedLaw(mutant), { numRuns: 1_000, endOnFailure: true })
    expect(failed).toBe(true)
  })
})
