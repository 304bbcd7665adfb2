import * as fc from 'fast-check'
import * as parts from '../../policy/retryPolicy.ts'

/** Milliseconds: few near numbers, so that parts of one policy often tie or just miss each other. */
export const policyTime: fc.Arbitrary<number> = fc.constantFrom(1, 2, 999, 1_000, 1_001, 2_000, 8_000, 60_000)

/** Policies of any form. They are plain data, so a counterexample prints and replays. */
export const policy: fc.Arbitrary<parts.RetryPolicy> = fc.letrec<{ policy: parts.RetryPolicy }>((tie) => ({
  policy: fc.oneof(
    { maxDepth: 4, depthSize: 'max', withCrossShrink: true },
    fc.constantFrom(parts.always, parts.respectRetryAfter),
    fc.record({ base: policyTime, factor: fc.constantFrom(1, 1.5, 2) }).map(parts.exponential),
    fc.nat({ max: 4 }).map(parts.limitRetries),
    policyTime.map(parts.deadline),
    fc.tuple(policyTime, tie('policy')).map(([most, inner]) => parts.capDelay(most)(inner)),
    tie('policy').map(parts.fullJitter),
    { weight: 3, arbitrary: fc.tuple(tie('policy'), tie('policy')).map(([a, b]) => parts.both(a, b)) },
  ),
})).policy
