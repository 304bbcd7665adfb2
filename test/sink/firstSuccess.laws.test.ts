import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { firstSuccess } from '../../src/sink/firstSuccess.ts'
import { firstSuccessLaws } from '../laws/firstSuccess.ts'
import { firstSuccessWorld, type MakeFirstSuccess, reachOf } from '../laws/firstSuccessWorld.ts'
import { firstSuccessMutants, plainFirstSuccess } from '../mutants/firstSuccess.ts'

const real: MakeFirstSuccess = (sinks, clock) => firstSuccess(sinks, { clock })

describe('first success keeps', () => {
  for (const { id, property } of firstSuccessLaws(real)) {
    test(id, () => {
      fc.assert(property, { numRuns: 1000 })
    })
  }
})

test('the worlds reach what the laws speak of', () => {
  const seen = new Map<string, number>()
  for (const world of fc.sample(firstSuccessWorld, 1000)) {
    for (const reached of reachOf(world)) seen.set(reached, (seen.get(reached) ?? 0) + 1)
  }
  expect(seen.size).toBe(7)
  for (const [reached, times] of seen) expect(times, reached).toBeGreaterThan(20)
})

describe('the laws', () => {
  test('hold for a second, plain implementation', () => {
    for (const { id, property } of firstSuccessLaws(plainFirstSuccess)) {
      expect(fc.check(property, { numRuns: 1000 }).failed, id).toBe(false)
    }
  })

  test.each(firstSuccessMutants)('kill a first success that $name', ({ make }) => {
    const killer = firstSuccessLaws(make).find(
      ({ property }) => fc.check(property, { numRuns: 1000, endOnFailure: true }).failed,
    )
    expect(killer).toBeDefined()
  })
})
