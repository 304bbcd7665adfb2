/** Retry policies of any form. */
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
} from '../../src/policy/retryPolicy.ts'
import type { RetryPolicy } from '../../src/policy/retryPolicy.ts'

/** A few numbers only, and so near to each other that parts of one policy often tie or just miss each other. */
export const ms: fc.Arbitrary<number> = fc.constantFrom(1, 2, 999, 1_000, 1_001, 2_000, 8_000, 60_000)

/** Policies of any form. */
export const anyPolicy: fc.Arbitrary<RetryPolicy> = fc.letrec<{ policy: RetryPolicy }>((tie) => ({
  policy: fc.oneof(
    { maxDepth: 4, depthSize: 'max', withCrossShrink: true },
    fc.constantFrom(always, respectRetryAfter),
    fc.record({ base: ms, factor: fc.constantFrom(1, 1.5, 2) }).map(exponential),
    fc.nat({ max: 4 }).map(limitRetries),
    ms.map(deadline),
    fc.tuple(ms, tie('policy')).map(([most, policy]) => capDelay(most)(policy)),
    tie('policy').map(fullJitter),
    { weight: 3, arbitrary: fc.tuple(tie('policy'), tie('policy')).map(([a, b]) => Monoid.concat(a, b)) },
  ),
})).policy
