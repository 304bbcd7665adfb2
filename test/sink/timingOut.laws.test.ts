import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { withTimeout } from '../../src/sink/timeout.ts'
import { type MakeTimingOut, reachOf, timingOutLaws, timingOutWorld } from '../laws/withTimeout.ts'
import { plainTimingOut, timingOutMutants } from '../mutants/withTimeout.ts'

const real: MakeTimingOut = (within, clock) => withTimeout(within, { clock })

describe('withTimeout:', () => {
  for (const { id, property } of timingOutLaws(real)) {
    test(id, () => {
      fc.assert(property, { numRuns: 1000 })
    })
  }
})

test('the worlds reach the limit from both sides', () => {
  const seen = new Map<string, number>()
  for (const world of fc.sample(timingOutWorld, 1000)) {
    for (const reached of reachOf(world)) seen.set(reached, (seen.get(reached) ?? 0) + 1)
  }
  expect(seen.size).toBe(6)
  for (const [reached, times] of seen) expect(times, reached).toBeGreaterThan(100)
})

describe('the laws', () => {
  test('hold for a second, plain implementation', () => {
    for (const { id, property } of timingOutLaws(plainTimingOut)) {
      expect(fc.check(property, { numRuns: 1000 }).failed, id).toBe(false)
    }
  })

  test.each(timingOutMutants)('kill a timeout that $name', ({ make }) => {
    const killer = timingOutLaws(make).find(
      ({ property }) => fc.check(property, { numRuns: 1000, endOnFailure: true }).failed,
    )
    expect(killer).toBeDefined()
  })
})
