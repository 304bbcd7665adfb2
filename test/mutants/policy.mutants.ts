/** Versions of `step` with one mistake each, and the law that finds it. */
import { isLeft, left } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { both, respectRetryAfter, type RetryPolicy } from '../../src/policy/retryPolicy.ts'
import { step, type Step } from '../../src/policy/step.ts'
import { policyLaws, type StepFunction } from '../laws/policy.laws.ts'

/** Decides by a policy whose parts are changed. */
const withParts =
  (change: (part: RetryPolicy) => RetryPolicy): StepFunction =>
  (policy, ...rest) => {
    const map = (part: RetryPolicy): RetryPolicy => {
      if (part._tag === 'Both') return change({ ...part, left: map(part.left), right: map(part.right) })
      return change('policy' in part ? { ...part, policy: map(part.policy) } : part)
    }
    return step(map(policy), ...rest)
  }

/** Changes the decision. */
const withStep =
  (change: (after: Step, given: Parameters<StepFunction>) => Step): StepFunction =>
  (...given) =>
    change(step(...given), given)

const waiting = (change: (delay: number) => number): StepFunction =>
  withStep((after, given) => {
    if (after._tag !== 'Wait') return after
    const delay = change(after.delay)
    return { ...after, delay, due: given[4] + delay }
  })

const mutants: ReadonlyArray<readonly [string, string, StepFunction]> = [
  [
    'starts at the deadline',
    'R3',
    withParts((part) => (part._tag === 'Deadline' ? { ...part, within: part.within + 1 } : part)),
  ],
  [
    'counts the deadline from now',
    'R8',
    (policy, progress, _first, verdict, now, random) => step(policy, progress, now, verdict, now, random),
  ],
  [
    'allows one retry more',
    'R8',
    withParts((part) => (part._tag === 'LimitRetries' ? { ...part, maxRetries: part.maxRetries + 1 } : part)),
  ],
  [
    'never ends',
    'R9',
    withParts((part) =>
      part._tag === 'LimitRetries' || part._tag === 'Deadline' ? { _tag: 'Always' } : part,
    ),
  ],
  [
    'ignores Retry-After',
    'R6',
    withParts((part) => (part._tag === 'RespectRetryAfter' ? { _tag: 'Always' } : part)),
  ],
  [
    'obeys Retry-After against the policy',
    'R6',
    (policy, ...rest) => step(both(policy, respectRetryAfter), ...rest),
  ],
  ['leaves out the cap', 'R5', withParts((part) => (part._tag === 'CapDelay' ? part.policy : part))],
  ['leaves out the jitter', 'R5', withParts((part) => (part._tag === 'FullJitter' ? part.policy : part))],
  ['retries without a pause', 'R2', waiting((delay) => (delay === 1 ? 0 : delay))],
  ['waits for fractions of a millisecond', 'R2', waiting((delay) => delay + 0.5)],
  [
    'retries after a final refusal',
    'R7final',
    withStep((after, [, , , , now]) =>
      after._tag === 'Reject'
        ? {
            _tag: 'Wait',
            due: now + 1,
            delay: 1,
            because: 'no',
            progress: { attempts: after.attempts, lastFailure: after.failure },
          }
        : after,
    ),
  ],
  [
    'rejects what a retry inside gave up on',
    'R7expired',
    withStep((after) => (after._tag === 'Expire' ? { ...after, _tag: 'Reject' } : after)),
  ],
  [
    'does not count attempts',
    'R10',
    withStep((after) =>
      after._tag === 'Wait' ? { ...after, progress: { ...after.progress, attempts: 1 } } : after,
    ),
  ],
  [
    'keeps the first failure',
    'R10',
    withStep((after, [, progress]) =>
      after._tag === 'Wait' && progress !== undefined
        ? { ...after, progress: { ...after.progress, lastFailure: progress.lastFailure } }
        : after,
    ),
  ],
  [
    'names the wrong reason',
    'R6because',
    withStep((after) => (after._tag === 'Wait' ? { ...after, because: 'backoff' } : after)),
  ],
  [
    'draws twice',
    'pure',
    (policy, progress, first, verdict, now, random) => {
      if (isLeft(verdict)) random()
      return step(policy, progress, first, verdict, now, random)
    },
  ],
  [
    'hears the left part only',
    'commutative in effect',
    withParts((part) => (part._tag === 'Both' ? part.left : part)),
  ],
  [
    'takes one final part for a final failure',
    'R7retryable',
    (policy, progress, first, verdict, now, random) =>
      step(
        policy,
        progress,
        first,
        isLeft(verdict) && JSON.stringify(verdict).includes('"Refused"')
          ? left({ _tag: 'Refused', reason: 'status' })
          : verdict,
        now,
        random,
      ),
  ],
]

describe('the laws of policies fail for a step that', () => {
  it.each(mutants)('%s: %s', (_name, id, mutant) => {
    // Some moments are rare.
    expect(
      policyLaws(mutant)
        .find((law) => law.id === id)
        ?.fails(20_000),
    ).toBe(true)
  })
})
