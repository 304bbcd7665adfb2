import { pipe } from 'fp-ts/lib/function.js'
import { concatAll } from 'fp-ts/lib/Monoid.js'
import { describe, expect, it } from 'vitest'
import {
  deadlineOf,
  Monoid,
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
import { show } from '../../src/policy/show.ts'

describe('RetryPolicy', () => {
  it('is plain data, which can be stored', () => {
    expect(JSON.parse(JSON.stringify(standard))).toEqual(standard)
  })

  it('has the defaults of DE5', () => {
    expect(exponential()).toEqual({ _tag: 'Exponential', base: 1_000, factor: 2 })
    expect(exponential({ factor: 1.5 })).toEqual({ _tag: 'Exponential', base: 1_000, factor: 1.5 })
  })

  it('composes with pipe and with concatAll', () => {
    const backoff = pipe(exponential(), capDelay(600_000), fullJitter)
    const policy = concatAll(Monoid)([backoff, deadline(14_400_000), notBefore])
    expect(show(policy)).toBe(show(standard))
  })

  it.each([
    ['exponential: base', () => exponential({ base: NaN })],
    ['exponential: base', () => exponential({ base: -1 })],
    ['exponential: base', () => exponential({ base: 0 })],
    ['exponential: base', () => exponential({ base: 0.5 })],
    ['exponential: base', () => exponential({ base: Infinity })],
    ['exponential: factor', () => exponential({ factor: NaN })],
    ['exponential: factor', () => exponential({ factor: 0.99 })],
    ['exponential: factor', () => exponential({ factor: Infinity })],
    ['capDelay: most', () => capDelay(NaN)],
    ['capDelay: most', () => capDelay(0)],
    ['limitRetries: most', () => limitRetries(-1)],
    ['limitRetries: most', () => limitRetries(1.5)],
    ['limitRetries: most', () => limitRetries(NaN)],
    ['deadline: within', () => deadline(0)],
    ['deadline: within', () => deadline(NaN)],
    ['deadline: within', () => deadline(-14_400_000)],
    ['deadline: within', () => deadline(Infinity)],
  ])('throws a RangeError that names %s', (name, make) => {
    expect(make).toThrow(RangeError)
    expect(make).toThrow(new RegExp(`^${name} must be a (whole|finite) number .*from \\d, got `))
  })
})

describe('deadlineOf', () => {
  it('is the nearest deadline, however deep it stands', () => {
    expect(deadlineOf(standard)).toBe(14_400_000)
    const deep = fullJitter(capDelay(5)(both(exponential(), deadline(7_000))))
    expect(deadlineOf(both(both(deadline(8_000), limitRetries(3)), deep))).toBe(7_000)
  })

  it('is Infinity when there is none', () => {
    expect(deadlineOf(always)).toBe(Infinity)
    expect(deadlineOf(both(exponential(), limitRetries(1)))).toBe(Infinity)
  })
})
