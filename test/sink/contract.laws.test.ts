import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { layerLaws } from '../laws/layer.ts'
import { nothingReached, sinkLaws } from '../laws/sink.ts'
import { layerMutants } from '../mutants/layer.ts'
import { sinkMutants } from '../mutants/sink.ts'
import { openStack, passiveLayers, stackWorld } from './stack.ts'

describe('layers in any order keep the contract of a sink:', () => {
  const reached = nothingReached()

  for (const { id, property } of sinkLaws({ worlds: stackWorld, open: openStack() }, reached)) {
    test(id, async () => {
      await fc.assert(property, { numRuns: 1000 })
    })
  }

  test('and the worlds reached every way to end', () => {
    expect(reached.deliveries).toBeGreaterThan(4_000)
    expect(reached.verdicts / reached.deliveries).toBeGreaterThan(0.5)
    expect(reached.defects / reached.deliveries).toBeGreaterThan(0.05)
    expect(reached.cancelledEarly).toBeGreaterThan(200)
    expect(reached.cancelledBetween).toBeGreaterThan(200)
    expect(reached.cancelledLate).toBeGreaterThan(200)
  })
})

describe.each(Object.entries(passiveLayers))('%s', (_name, make) => {
  for (const { id, property } of layerLaws(make)) {
    test(id, () => {
      fc.assert(property, { numRuns: 1000 })
    })
  }
})

describe('the laws', () => {
  test.each(sinkMutants)('kill a sink that $name', async ({ make }) => {
    let killer: string | undefined
    for (const { id, property } of sinkLaws({ worlds: stackWorld, open: openStack(make) })) {
      if (killer !== undefined) break
      if ((await fc.check(property, { numRuns: 1000, endOnFailure: true })).failed) killer = id
    }
    expect(killer).toBeDefined()
  })

  test.each(layerMutants)('kill a layer that $name', ({ make }) => {
    const killer = layerLaws(make).find(
      ({ property }) => fc.check(property, { numRuns: 1000, endOnFailure: true }).failed,
    )
    expect(killer).toBeDefined()
  })
})
