import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { refused, retryable } from '../../src/core/failure.ts'
import { plan } from '../../src/policy/plan.ts'
import {
  always,
  both,
  capDelay,
  deadline,
  exponential,
  fullJitter,
  limitRetries,
  notBefore,
  standard,
} from '../../src/policy/retryPolicy.ts'
import type { RetryPolicy } from '../../src/policy/retryPolicy.ts'
import { seededRandom } from '../../src/testing/random.ts'

const half = (): number => 0.5

describe('plan', () => {
  it('lists number, start, delay and reason', () => {
    const policy = both(both(capDelay(1_500)(exponential()), limitRetries(3)), notBefore)
    const verdict = (number: number, now: number) =>
      left(retryable('status', number === 3 ? { notBefore: now + 7_000 } : {}))
    expect(plan(policy, { random: half, duration: 100, verdict })).toEqual([
      { number: 1, at: 0, delay: 0, because: 'first attempt' },
      { number: 2, at: 1_100, delay: 1_000, because: 'exponential from 1s x2, at most 1500ms' },
      { number: 3, at: 2_700, delay: 1_500, because: 'exponential from 1s x2, at most 1500ms' },
      { number: 4, at: 9_800, delay: 7_000, because: 'Retry-After' },
    ])
  })

  it('ends with a success and with a final refusal', () => {
    const succeeds = (number: number) => (number === 2 ? right({ sink: 'one' }) : left(retryable('timeout')))
    const refuses = (number: number) => left(number === 3 ? refused('status') : retryable('timeout'))
    expect(plan(always, { random: half, verdict: succeeds })).toHaveLength(2)
    expect(plan(always, { random: half, verdict: refuses })).toHaveLength(3)
  })

  it('has an end even where the policy has none', () => {
    expect(plan(always, { random: half })).toHaveLength(1_000)
    expect(plan(exponential(), { random: half, most: 5_000 })).toHaveLength(5_000)
    expect(plan(standard, { random: half, most: 1 })).toHaveLength(1)
  })

  it('stops right before the deadline', () => {
    const every = (within: number): RetryPolicy =>
      both(exponential({ base: 1_000, factor: 1 }), deadline(within))
    expect(plan(every(3_000), { random: half }).map((attempt) => attempt.at)).toEqual([0, 1_000, 2_000])
    expect(plan(every(3_001), { random: half }).map((attempt) => attempt.at)).toEqual([
      0, 1_000, 2_000, 3_000,
    ])
  })

  it.each([
    ['duration', { duration: -1 }],
    ['duration', { duration: NaN }],
    ['most', { most: 0 }],
    ['most', { most: Infinity }],
  ])('names a wrong %s', (name, wrong) => {
    expect(() => plan(always, { random: half, ...wrong })).toThrow(RangeError)
    expect(() => plan(always, { random: half, ...wrong })).toThrow(`plan: ${name} must be a whole number`)
  })
})

/** pipelines 3b, "Plan sizes": attempts in 4 h when each one times out after 5 s; p1, p50 and p99 of many lives. */
describe('sizes of a plan of four hours', () => {
  const sizes = (policy: RetryPolicy): ReadonlyArray<number> => {
    const lives = Array.from({ length: 1_000 }, (_, seed) => {
      const random = seededRandom(seed * 7_919)
      return plan(both(policy, deadline(14_400_000)), { random, duration: 5_000 }).length
    }).sort((a, b) => a - b)
    return [0.01, 0.5, 0.99].map((at) => lives[Math.floor(at * lives.length)] ?? NaN)
  }
  const jittered = (base: number, cap: number): RetryPolicy =>
    fullJitter(capDelay(cap)(exponential({ base })))
  const about = (wanted: ReadonlyArray<number>, share: number) => (found: number, i: number) =>
    Math.abs(found - (wanted[i] ?? NaN)) <= share * (wanted[i] ?? NaN)

  it.each([
    { base: 1_000, cap: 30_000, wanted: [681, 706, 731] },
    { base: 1_000, cap: 300_000, wanted: [89, 100, 113] },
    { base: 5_000, cap: 600_000, wanted: [45, 53, 63] },
    { base: 1_000, cap: 1_800_000, wanted: [22, 26, 32] },
  ])('base $base ms, cap $cap ms: about $wanted', ({ base, cap, wanted }) => {
    const found = sizes(jittered(base, cap))
    // The study had a floor of 1 s, which DE5 has not; that is at most a few attempts more.
    expect(found.every(about(wanted, 0.12)), `found ${found.join('/')}`).toBe(true)
  })

  it('of the standard policy: 48/56/65', () => {
    expect(sizes(standard)).toEqual([48, 56, 65])
  })
})
