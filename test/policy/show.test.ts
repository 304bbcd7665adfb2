import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
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
import { show, showDuration } from '../../src/policy/show.ts'
import { anyPolicy } from '../laws/policyCombine.ts'

describe('show', () => {
  it.each([
    [always, 'always'],
    [both(always, always), 'always'],
    [both(always, notBefore), 'not before Retry-After'],
    [exponential(), 'exponential from 1s x2'],
    [exponential({ base: 250, factor: 1.5 }), 'exponential from 250ms x1.5'],
    [capDelay(600_000)(fullJitter(exponential())), 'exponential from 1s x2, full jitter, at most 10m'],
    [fullJitter(capDelay(600_000)(exponential())), 'exponential from 1s x2, at most 10m, full jitter'],
    [limitRetries(1), 'at most 1 retry'],
    [both(limitRetries(5), deadline(90_000)), 'at most 5 retries; until 90s'],
    [fullJitter(both(exponential(), deadline(1))), '(exponential from 1s x2; until 1ms), full jitter'],
    [standard, 'exponential from 1s x2, at most 10m, full jitter; until 4h; not before Retry-After'],
  ])('case %#: %s', (policy, words) => {
    expect(show(policy)).toBe(words)
  })

  it('reads the same however the parts are grouped', () => {
    fc.assert(
      fc.property(anyPolicy, anyPolicy, anyPolicy, (a, b, c) => {
        expect(show(both(both(a, b), c))).toBe(show(both(a, both(b, c))))
        expect(show(both(always, a))).toBe(show(a))
        expect(show(both(a, always))).toBe(show(a))
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('showDuration', () => {
  it.each([
    [0, '0ms'],
    [1, '1ms'],
    [999, '999ms'],
    [1_000, '1s'],
    [1_500, '1500ms'],
    [90_000, '90s'],
    [600_000, '10m'],
    [5_400_000, '90m'],
    [14_400_000, '4h'],
    [172_800_000, '48h'],
  ])('%i ms is %s', (ms, words) => {
    expect(showDuration(ms)).toBe(words)
  })

  it('loses nothing', () => {
    const sizes: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }
    const duration = fc.oneof(
      fc.nat(),
      fc.nat({ max: 500 }).map((minutes) => minutes * 60_000),
    )
    fc.assert(
      fc.property(duration, (ms) => {
        const [, count = '', unit = ''] = /^(\d+)(ms|s|m|h)$/.exec(showDuration(ms)) ?? []
        expect(Number(count) * (sizes[unit] ?? NaN)).toBe(ms)
      }),
      { numRuns: 1_000 },
    )
  })
})
