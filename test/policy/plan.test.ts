import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { refused, retryable } from '../../src/index.ts'
import { plan, always, both, capDelay, exponential } from '../../src/policy/index.ts'
import { limitRetries, respectRetryAfter, standard } from '../../src/policy/index.ts'
import { seededRandom } from '../../src/testing/random.ts'

const half = (): number => 0.5

describe('plan', () => {
  it('lists number, start, delay and reason', () => {
    const policy = both(both(capDelay(1_500)(exponential()), limitRetries(3)), respectRetryAfter)
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
    expect(plan(exponential(), { random: half, maxAttempts: 5_000 })).toHaveLength(5_000)
    expect(plan(standard, { random: half, maxAttempts: 1 })).toHaveLength(1)
  })

  it.each([
    ['duration', 'ms', { duration: -1 }],
    ['duration', 'ms', { duration: NaN }],
    ['maxAttempts', 'attempts', { maxAttempts: 0 }],
    ['maxAttempts', 'attempts', { maxAttempts: Infinity }],
  ])('names a wrong %s', (name, unit, wrong) => {
    const fault = `Invalid plan options: ${name} must be a whole number of ${unit} from`
    expect(() => plan(always, { random: half, ...wrong })).toThrow(fault)
  })
})

it('plans 48, 56 and 65 attempts of 5 s for the standard policy (percentiles 1, 50, 99)', () => {
  const sizeOf = (seed: number) => plan(standard, { random: seededRandom(seed), duration: 5_000 }).length
  const sizes = Array.from({ length: 1_000 }, (_, at) => sizeOf(at * 7_919)).sort((a, b) => a - b)
  expect([0.01, 0.5, 0.99].map((at) => sizes[Math.floor(at * sizes.length)])).toEqual([48, 56, 65])
})
