import * as fc from 'fast-check'
import { pipe } from 'fp-ts/lib/function.js'
import { concatAll } from 'fp-ts/lib/Monoid.js'
import { describe, expect, it, test } from 'vitest'
import { Monoid, always, both, capDelay, deadline, deadlineOf } from '../../src/policy/retryPolicy.ts'
import { exponential, fullJitter, isRetryPolicy, limitRetries } from '../../src/policy/retryPolicy.ts'
import { respectRetryAfter, standard, show, showDuration } from '../../src/policy/retryPolicy.ts'
import { policy as anyPolicy } from '../../src/testing/laws/policyLaws.ts'
import { forAll } from '../support/check.ts'

describe('RetryPolicy', () => {
  it('is plain data, to be stored', () => expect(JSON.parse(JSON.stringify(standard))).toEqual(standard))

  it('has the defaults of DE5', () => {
    expect(exponential()).toEqual({ _tag: 'Exponential', base: 1_000, factor: 2 })
    expect(exponential({ factor: 1.5 })).toEqual({ _tag: 'Exponential', base: 1_000, factor: 1.5 })
  })

  it('composes with pipe and with concatAll', () => {
    const backoff = pipe(exponential(), capDelay(600_000), fullJitter)
    expect(show(concatAll(Monoid)([backoff, deadline(14_400_000), respectRetryAfter]))).toBe(show(standard))
  })

  it.each([
    ...[NaN, -1, 0, 0.5, Infinity].map((base) => ['exponential', () => exponential({ base })] as const),
    ...[NaN, 0.99, Infinity].map((factor) => ['exponential', () => exponential({ factor })] as const),
    ...[NaN, 0].map((most) => ['capDelay', () => capDelay(most)] as const),
    ...[NaN, -1, 1.5].map((most) => ['limitRetries', () => limitRetries(most)] as const),
    ...[NaN, 0, -14_400_000, Infinity].map((within) => ['deadline', () => deadline(within)] as const),
  ])('throws a ConfigError that names %s', (name, make) => {
    const number = '(whole number of (ms|retries)|finite number)'
    const message: unknown = expect.stringMatching(`^Invalid ${name}.* must be a ${number} from \\d, not `)
    expect(make).toThrow(expect.objectContaining({ name: 'ConfigError', message }))
  })
})

it('deadlineOf is the nearest deadline, however deep it stands, and Infinity without one', () => {
  expect(deadlineOf(standard)).toBe(14_400_000)
  const deep = fullJitter(capDelay(5)(both(exponential(), deadline(7_000))))
  expect(deadlineOf(both(both(deadline(8_000), limitRetries(3)), deep))).toBe(7_000)
  for (const policy of [always, both(exponential(), limitRetries(1))])
    expect(deadlineOf(policy)).toBe(Infinity)
})

it('isRetryPolicy looks at every part', () => {
  forAll(anyPolicy, fc.constantFrom('x', -1, NaN), (policy, bad) => {
    expect(isRetryPolicy(JSON.parse(JSON.stringify(policy)))).toBe(true)
    for (const key of Object.keys(policy)) expect(isRetryPolicy({ ...policy, [key]: bad })).toBe(false)
  })
  for (const wrong of [undefined, {}, { _tag: 'Deadline', within: NaN }, { _tag: 'FullJitter', policy: {} }])
    expect(isRetryPolicy(wrong)).toBe(false)
})

describe('show', () => {
  it.each([
    [always, 'always'],
    [both(always, always), 'always'],
    [both(always, respectRetryAfter), 'not before Retry-After'],
    [exponential(), 'exponential from 1s x2'],
    [exponential({ base: 250, factor: 1.5 }), 'exponential from 250ms x1.5'],
    [capDelay(600_000)(fullJitter(exponential())), 'exponential from 1s x2, full jitter, at most 10m'],
    [fullJitter(capDelay(600_000)(exponential())), 'exponential from 1s x2, at most 10m, full jitter'],
    [limitRetries(1), 'at most 1 retry'],
    [both(limitRetries(5), deadline(90_000)), 'at most 5 retries; until 90s'],
    [fullJitter(both(exponential(), deadline(1))), '(exponential from 1s x2; until 1ms), full jitter'],
    [standard, 'exponential from 1s x2, at most 10m, full jitter; until 4h; not before Retry-After'],
  ])('case %#: %s', (policy, words) => expect(show(policy)).toBe(words))

  it('reads the same however the parts are grouped', () =>
    forAll(anyPolicy, anyPolicy, anyPolicy, (a, b, c) => {
      expect(show(both(both(a, b), c))).toBe(show(both(a, both(b, c))))
      expect(show(both(always, a))).toBe(show(a))
      expect(show(both(a, always))).toBe(show(a))
    }))
})

test('showDuration has the largest unit without a fraction', () => {
  const durations = [0, 1, 999, 1_000, 1_500, 90_000, 600_000, 5_400_000, 14_400_000, 172_800_000]
  const words = ['0ms', '1ms', '999ms', '1s', '1500ms', '90s', '10m', '90m', '4h', '48h']
  expect(durations.map(showDuration)).toEqual(words)
})
