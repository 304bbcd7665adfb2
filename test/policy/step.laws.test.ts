import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { step } from '../../src/policy/step.ts'
import { combineLaws } from '../laws/policyCombine.ts'
import { moment } from '../laws/policyMoments.ts'
import { stepLaws } from '../laws/policyStep.ts'
import { expectedOf } from '../laws/policyWorlds.ts'
import type { Moment, StepFunction } from '../laws/policyWorlds.ts'
import { mutants, rewritten } from '../mutants/policy.ts'

const laws = (implementation: StepFunction) => [...stepLaws(implementation), ...combineLaws(implementation)]

const killers = (implementation: StepFunction): ReadonlyArray<string> =>
  laws(implementation)
    .filter(({ fails }) => fails())
    .map(({ id }) => id)

describe('step', () => {
  it.each(laws(step))('keeps $id', ({ check }) => {
    check()
  })

  it('is not told apart from its second writing, from which the mutants are made', () => {
    expect(killers(rewritten)).toEqual([])
  })

  it.each(mutants)('would be caught if it $name: $law', ({ step: mutated, law }) => {
    const named = laws(mutated).find(({ id }) => id === law)
    // Some worlds are rare: the slowest of these was found after 900 runs.
    expect(named?.fails(20_000)).toBe(true)
  })
})

describe('the moments in which the laws ask', () => {
  const moments = fc.sample(moment, { numRuns: 1_000, seed: 1 })
  const share = (holds: (at: Moment) => boolean): number => moments.filter(holds).length / moments.length
  const beside = (at: Moment, distance: number): boolean => {
    const expected = expectedOf(at)
    return expected.retryable && !expected.exhausted && expected.due - expected.deadline === distance
  }

  it.each([-1, 0, 1])('have a due time %i ms from the deadline', (distance) => {
    expect(share((at) => beside(at, distance))).toBeGreaterThan(0.05)
  })

  it.each([-1, 0, 1])('have a verdict %i ms from the deadline', (distance) => {
    expect(share((at) => at.now - expectedOf(at).deadline === distance)).toBeGreaterThan(0.02)
  })

  it.each([-1, 0, 1])('have a Retry-After %i ms from the deadline', (distance) => {
    const near = (at: Moment): boolean =>
      at.leaves.some(
        (leaf) => !leaf.final && leaf.at !== undefined && leaf.at - expectedOf(at).deadline === distance,
      )
    expect(share(near)).toBeGreaterThan(0.05)
  })

  it.each([
    ['a Retry-After that sets the delay', (at: Moment) => expectedOf(at).held && expectedOf(at).retryable],
    [
      'a Retry-After sooner than the backoff',
      (at: Moment) => at.leaves.some((leaf) => !leaf.final && leaf.at !== undefined && leaf.at < at.now),
    ],
    ['draws of 0', (at: Moment) => at.draw === 0],
    ['draws just below 1', (at: Moment) => at.draw > 0.999_999],
    ['failures of which no part is retryable', (at: Moment) => !expectedOf(at).retryable],
    ['retries used up', (at: Moment) => expectedOf(at).exhausted],
    ['a last retry', (at: Moment) => at.before + 1 === at.shape.retries],
    ['several delays', (at: Moment) => at.shape.curves.length > 1],
    ['no delay', (at: Moment) => at.shape.curves.length === 0],
    [
      'something that waits',
      (at: Moment) =>
        expectedOf(at).retryable && expectedOf(at).due < expectedOf(at).deadline && !expectedOf(at).exhausted,
    ],
  ])('have %s', (_name, holds) => {
    expect(share(holds)).toBeGreaterThan(0.05)
  })
})
