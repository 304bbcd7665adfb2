import { left, right } from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { allFailed, expired, notAll, partlyFailed, refused, retryable } from '../../src/core/failure.ts'
import { show as showFailure, type ExpiredFailure, type Failure } from '../../src/core/failure.ts'
import { always, both, capDelay, deadline, exponential, fullJitter } from '../../src/policy/index.ts'
import { limitRetries, respectRetryAfter, show, standard, type RetryPolicy } from '../../src/policy/index.ts'
import type { Progress } from '../../src/outbox/index.ts'
import { step, type Step } from '../../src/policy/step.ts'

const SINCE = 1_000_000
const half = (): number => 0.5
const timeout = retryable('timeout')

/** The step after `attempts` attempts that all failed, `elapsed` after the start of the first. */
const after = (
  policy: RetryPolicy,
  attempts: number,
  elapsed: number,
  failure: Failure = timeout,
  random = half,
  lastFailure: Failure = timeout,
): Step<undefined> => {
  const progress: Progress | undefined = attempts === 1 ? undefined : { attempts: attempts - 1, lastFailure }
  return step(policy, undefined, progress, SINCE, left(failure), SINCE + elapsed, random)
}

describe('step', () => {
  it('waits for the full delay with a random number that is none: due times stay numbers', () => {
    const policy = fullJitter(exponential())
    for (const drawn of [1, NaN, Infinity])
      expect(after(policy, 3, 0, timeout, () => drawn)).toMatchObject({ delay: 4_000, due: SINCE + 4_000 })
  })

  it('names the part that set the delay', () => {
    const slow = exponential({ base: 60_000, factor: 1 })
    const policy = both(slow, pipe(exponential(), fullJitter, capDelay(600_000)))
    const [early, late] = [1, 9].map((attempts) => after(policy, attempts, 0))
    expect(early).toMatchObject({ delay: 60_000, because: 'exponential from 1m x1' })
    const because = 'exponential from 1s x2, full jitter, at most 10m'
    expect(late).toMatchObject({ delay: 128_000, because })
    const constant = fullJitter(exponential({ base: 1, factor: 1 }))
    expect(after(both(always, constant), 1, 0)).toMatchObject({ because: show(constant) })
    expect(after(both(constant, capDelay(1)(constant)), 1, 0)).toMatchObject({ because: show(constant) })
  })

  it.each([
    ['NaN', NaN, 1],
    ['a past moment', -5, 1],
    ['a fraction', SINCE + 10.5, 11],
    ['infinity', Infinity, 1e15],
  ])('accepts a notBefore of %s', (_name, notBefore, delay) =>
    expect(after(respectRetryAfter, 1, 0, retryable('own words', { notBefore }))).toMatchObject({ delay }),
  )

  it('accepts a thousand attempts without a cap', () => {
    expect(after(exponential(), 5_000, 0)).toMatchObject({ delay: 1e15 })
    expect(after(fullJitter(exponential()), 5_000, 0, timeout, () => 0)).toMatchObject({ delay: 1 })
    expect(after(fullJitter(exponential()), 5_000, 0, timeout, () => 1)).toMatchObject({ delay: 1e15 })
  })

  it('has one type for each end', () => {
    const ended = after(standard, 1, 0)
    if (ended._tag === 'Expired') expectTypeOf(ended.failure).toEqualTypeOf<ExpiredFailure>()
    if (ended._tag === 'Wait') expectTypeOf(ended.progress).toEqualTypeOf<Progress>()
    // @ts-expect-error: a delivered item has no failure
    if (ended._tag === 'Delivered') expect(ended.failure).toBeUndefined()
    expect(ended._tag).toBe('Wait')
  })
})

const taken = right({ sink: 'a' })
const no = left(refused('status', { status: 400 }))
const busy = left(retryable('status', { status: 503 }))

it.each<readonly [RetryPolicy, string, string]>([
  [both(exponential(), limitRetries(0)), 'attempts', 'after all its 1 attempts'],
  [both(exponential(), deadline(1_000)), 'deadline', 'at its deadline, after 1 attempts'],
  [both(limitRetries(0), deadline(1)), 'attempts', 'after all its 1 attempts'],
  [both(limitRetries(1), deadline(1)), 'deadline', 'at its deadline, after 1 attempts'],
])('says which limit was reached: %#', (policy, because, words) => {
  const end = after(policy, 1, 0, retryable('status', { status: 503 }))
  expect(end).toMatchObject({ _tag: 'Expired', failure: { because } })
  expect(end._tag === 'Expired' && showFailure(end.failure)).toBe(`expired ${words}, last: status 503`)
})

it('expires what a retry inside gave up on, with the attempts of that', () => {
  const inner = expired(4, SINCE, timeout, 'attempts')
  expect(after(always, 1, 0, inner)).toEqual({ _tag: 'Expired', attempts: 4, failure: inner })
})

it.each([
  (a: Failure, b: Failure) => allFailed([a, b].map((failure) => ({ sink: 'a', failure }))),
  (a: Failure, b: Failure) => notAll([a, b].map((failure) => ({ sink: 'a', verdict: left(failure) }))),
])('waits for the first of several sinks that hold back, whatever the policy: %#', (combined) => {
  const late = retryable('held', { notBefore: SINCE + 900, gate: 'rate' })
  const early = retryable('held', { notBefore: SINCE + 500, gate: 'circuit' })
  expect(after(always, 1, 0, combined(late, early))).toMatchObject({ delay: 500, because: 'circuit' })
})

describe('a step with a batch', () => {
  const afterBatch = (policy: RetryPolicy, failure: Failure, last?: Failure): Step<undefined> =>
    after(policy, last === undefined ? 1 : 2, 0, failure, () => 0, last)

  it('forgets nothing that was settled when a later attempt did not get there', () => {
    const last = partlyFailed([taken, no, busy])
    const held = retryable('held', { notBefore: SINCE + 500 })
    const progress = { lastFailure: partlyFailed([taken, no, left(held)]) }
    expect(afterBatch(always, held, last)).toMatchObject({ _tag: 'Wait', progress })
    const failure = expired(2, SINCE, partlyFailed([taken, no, left(timeout)]), 'deadline')
    expect(afterBatch(deadline(1), timeout, last)).toEqual({ _tag: 'Expired', attempts: 2, failure })
    const unknownKey = refused('status', { status: 401 })
    const rejected = partlyFailed([taken, no, left(unknownKey)])
    expect(afterBatch(always, unknownKey, last)).toMatchObject({ _tag: 'Rejected', failure: rejected })
  })

  it('waits before a gate, also without a policy that minds the wish: it would only be held back again', () => {
    const held = retryable('held', { notBefore: SINCE + 500 })
    const wish = retryable('status', { notBefore: SINCE + 500 })
    expect(afterBatch(always, held)).toMatchObject({ due: SINCE + 500 })
    expect(afterBatch(always, partlyFailed([taken, left(held)]))).toMatchObject({ due: SINCE + 500 })
    const sinks = left(allFailed([{ sink: 'a', failure: wish }]))
    expect(afterBatch(always, partlyFailed([sinks, left(held)]))).toMatchObject({ due: SINCE + 1 })
    expect(afterBatch(always, partlyFailed([left(wish), left(held)]))).toMatchObject({ due: SINCE + 1 })
    expect(afterBatch(always, wish)).toMatchObject({ due: SINCE + 1, because: 'no backoff' })
  })
})
