import { describe, expect, it } from 'vitest'
import { backoff, both, capDelay, exponential, fullJitter } from '../../src/policy/retryPolicy.ts'
import type { RetryPolicy } from '../../src/policy/retryPolicy.ts'
import { seededRandom } from '../../src/testing/random.ts'

const DRAWS = 10_000

/** R5′: the mean and the mean square of so many draws lie within three standard errors of an even spread over 0 .. most. */
const isEven = (delays: ReadonlyArray<number>, most: number): boolean => {
  const shares = delays.map((delay) => (delay + 0.5) / (most + 1))
  const mean = shares.reduce((sum, share) => sum + share, 0) / DRAWS
  const square = shares.reduce((sum, share) => sum + share ** 2, 0) / DRAWS
  const meanError = Math.sqrt(1 / 12 / DRAWS)
  const squareError = Math.sqrt(4 / 45 / DRAWS)
  return Math.abs(mean - 1 / 2) <= 3 * meanError && Math.abs(square - 1 / 3) <= 3 * squareError
}

const draws = (delay: (draw: number) => number): ReadonlyArray<number> => {
  const random = seededRandom(2_026)
  return Array.from({ length: DRAWS }, () => delay(random()))
}

describe("R5': full jitter", () => {
  const of = (policy: RetryPolicy, failures: number) => (draw: number) =>
    backoff(policy, failures, draw)?.delay ?? NaN

  it.each([
    { name: 'the first delay', policy: fullJitter(exponential()), failures: 1, most: 1_000 },
    { name: 'the fifth', policy: fullJitter(exponential()), failures: 5, most: 16_000 },
    {
      name: 'a capped one',
      policy: fullJitter(capDelay(600_000)(exponential())),
      failures: 30,
      most: 600_000,
    },
    { name: 'jitter in jitter', policy: fullJitter(fullJitter(exponential())), failures: 3, most: 4_000 },
    {
      name: 'two jitters together',
      policy: both(fullJitter(exponential()), fullJitter(exponential({ base: 3_000 }))),
      failures: 2,
      most: 6_000,
    },
  ])('spreads $name evenly', ({ policy, failures, most }) => {
    expect(isEven(draws(of(policy, failures)), most)).toBe(true)
  })

  it.each([
    ['draws twice', (draw: number) => Math.floor(draw * draw * 1_001)],
    ['keeps the upper half', (draw: number) => Math.floor((1 + draw) * 500)],
    ['stays near the middle', (draw: number) => Math.floor((0.25 + draw / 2) * 1_001)],
    ['is five in a hundred too short', (draw: number) => Math.floor(draw * 951)],
  ])('would be caught if it %s', (_name, delay) => {
    expect(isEven(draws(delay), 1_000)).toBe(false)
  })
})
