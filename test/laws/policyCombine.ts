/**
 * The laws of combination: policies are a monoid, in what `step` does with them. Policies of any shape, nested to any depth,
 * are asked in moments near their own limits.
 */
import * as fc from 'fast-check'
import { left } from 'fp-ts/lib/Either.js'
import { retryable } from '../../src/core/failure.ts'
import {
  Monoid,
  always,
  capDelay,
  deadline,
  exponential,
  fullJitter,
  limitRetries,
  notBefore,
} from '../../src/policy/retryPolicy.ts'
import type { RetryPolicy } from '../../src/policy/retryPolicy.ts'
import type { Step } from '../../src/policy/step.ts'
import { holds, law, same } from './policyLaw.ts'
import type { Law } from './policyLaw.ts'
import { ALMOST_ONE, progressOf, waits } from './policyWorlds.ts'
import type { StepFunction } from './policyWorlds.ts'

/** A few numbers only, and so near to each other that parts of one policy often tie or just miss each other. */
const ms = fc.constantFrom(1, 2, 999, 1_000, 1_001, 2_000, 8_000, 60_000)

/** Policies of any form. */
export const anyPolicy: fc.Arbitrary<RetryPolicy> = fc.letrec<{ policy: RetryPolicy }>((tie) => ({
  policy: fc.oneof(
    { maxDepth: 4, depthSize: 'max', withCrossShrink: true },
    fc.constantFrom(always, notBefore),
    fc.record({ base: ms, factor: fc.constantFrom(1, 1.5, 2) }).map(exponential),
    fc.nat({ max: 4 }).map(limitRetries),
    ms.map(deadline),
    fc.tuple(ms, tie('policy')).map(([most, policy]) => capDelay(most)(policy)),
    tie('policy').map(fullJitter),
    { weight: 3, arbitrary: fc.tuple(tie('policy'), tie('policy')).map(([a, b]) => Monoid.concat(a, b)) },
  ),
})).policy

const at = fc.record({
  before: fc.nat({ max: 5 }),
  elapsed: fc.oneof(fc.constantFrom(0, 1, 998, 999), fc.nat({ max: 60_000 })),
  asked: fc.option(fc.oneof(ms, fc.nat({ max: 120_000 })), { nil: undefined }),
  draw: fc.oneof(fc.constantFrom(0, ALMOST_ONE), fc.double({ min: 0, max: ALMOST_ONE, noNaN: true })),
})

type At = typeof at extends fc.Arbitrary<infer T> ? T : never

/** What a policy does in a moment; the words of `because` depend on the order of the parts and are left out. */
const effect = (step: StepFunction, policy: RetryPolicy, { before, elapsed, asked, draw }: At): Step => {
  const failure = retryable('status', asked === undefined ? {} : { notBefore: asked })
  const after = step(policy, progressOf(before), 0, left(failure), elapsed, () => draw)
  return waits(after) ? { ...after, because: '' } : after
}

const { concat, empty } = Monoid

/** The laws, over an implementation of `step`. */
export const combineLaws = (step: StepFunction): ReadonlyArray<Law> => {
  const equal = (a: RetryPolicy, b: RetryPolicy, moment: At): void => {
    same(effect(step, a, moment), effect(step, b, moment))
  }
  const lawOf = (
    id: string,
    check: (a: RetryPolicy, b: RetryPolicy, c: RetryPolicy, moment: At) => void,
  ): Law => law(id, fc.property(anyPolicy, anyPolicy, anyPolicy, at, check))
  return [
    lawOf('associative', (a, b, c, moment) => {
      equal(concat(concat(a, b), c), concat(a, concat(b, c)), moment)
    }),
    lawOf('always is the identity', (a, _b, _c, moment) => {
      equal(concat(empty, a), a, moment)
      equal(concat(a, empty), a, moment)
    }),
    lawOf('commutative in effect', (a, b, _c, moment) => {
      equal(concat(a, b), concat(b, a), moment)
    }),
    lawOf('idempotent', (a, _b, _c, moment) => {
      equal(concat(a, a), a, moment)
    }),
    lawOf('the longer delay wins', (a, b, _c, moment) => {
      const [left, right, both] = [a, b, concat(a, b)].map((policy) => effect(step, policy, moment))
      if (!left || !right || !both || !waits(left) || !waits(right) || !waits(both)) return
      // Where only one of the two obeys the receiver, their combination obeys it.
      same(both.delay, Math.max(left.delay, right.delay))
    }),
    lawOf('either may stop', (a, b, _c, moment) => {
      const [left, right, both] = [a, b, concat(a, b)].map((policy) => effect(step, policy, moment)._tag)
      holds(both === 'Expire' || (left === 'Wait' && right === 'Wait'), 'one part stopped, and was not heard')
    }),
    lawOf('jitter of a combination', (a, b, _c, moment) => {
      equal(fullJitter(concat(a, b)), concat(fullJitter(a), fullJitter(b)), moment)
      equal(fullJitter(fullJitter(a)), fullJitter(a), moment)
    }),
    lawOf('limits pass through cap and jitter', (a, _b, _c, moment) => {
      const limits = concat(notBefore, concat(limitRetries(2), deadline(5_000)))
      equal(capDelay(1)(fullJitter(concat(a, limits))), concat(capDelay(1)(fullJitter(a)), limits), moment)
    }),
  ]
}
