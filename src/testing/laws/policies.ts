/** Retry policies of any form. They are plain data, so a counterexample prints and replays. */
import * as fc from 'fast-check'
import {
  Monoid,
  always,
  capDelay,
  deadline,
  exponential,
  fullJitter,
  limitRetries,
  respectRetryAfter,
} from '../../policy/retryPolicy.ts'
import type { RetryPolicy } from '../../policy/retryPolicy.ts'

/** Milliseconds: a few numbers only, and so near to each other that parts of one policy often tie or just miss each other. */
export const policyTime: fc.Arbitrary<number> = fc.constantFrom(1, 2, 999, 1_000, 1_001, 2_000, 8_000, 60_000)

/** Policies of any form. */
export const policy: fc.Arbitrary<RetryPolicy> = fc.letrec<{ policy: RetryPolicy }>((tie) => ({
  policy: fc.oneof(
    { maxDepth: 4, depthSize: 'max', withCrossShrink: true },
    fc.constantFrom(always, respectRetryAfter),
    fc.record({ base: policyTime, factor: fc.constantFrom(1, 1.5, 2) }).map(exponential),
    fc.nat({ max: 4 }).map(limitRetries),
    policyTime.map(deadline),
    fc.tuple(policyTime, tie('policy')).map(([most, policy]) => capDelay(most)(policy)),
    tie('policy').map(fullJitter),
    { weight: 3, arbitrary: fc.tuple(tie('policy'), tie('policy')).map(([a, b]) => Monoid.concat(a, b)) },
  ),
})).policy
