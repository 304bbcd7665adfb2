import type { RetryPolicy } from './RetryPolicy.ts'

/** A delay, and the part of the policy that gave it. */
export interface Backoff {
  /** Whole milliseconds, 0 or more. */
  readonly delay: number
  readonly by: RetryPolicy
}

/** Some 31,000 years. Delays that grow without a cap stop here, so that due times stay whole numbers. */
export const LONGEST_DELAY = 1e15

/** Evenly one of the whole numbers 0 .. most, both ends included. `min` is for a chance that answers 1 against its contract. */
const share = (draw: number, most: number): number => Math.min(Math.floor(draw * (most + 1)), most)

/** Which delay counts: the longer one; of two equal ones the first. */
const longer = (left: Backoff | undefined, right: Backoff | undefined): Backoff | undefined => {
  if (left === undefined || right === undefined) return left ?? right
  return right.delay > left.delay ? right : left
}

/**
 * The delay after so many failures (1 or more), or undefined if no part gives one. One draw serves all parts: so the order of
 * the parts cannot matter, and the jitter of a combination is the combination of the jitters. `draw` is undefined inside a
 * jitter, where the full delay is asked for.
 */
export const backoff = (
  policy: RetryPolicy,
  failures: number,
  draw: number | undefined,
): Backoff | undefined => {
  switch (policy._tag) {
    case 'Exponential': {
      const delay = Math.min(Math.floor(policy.base * policy.factor ** (failures - 1)), LONGEST_DELAY)
      return { delay, by: policy }
    }
    case 'CapDelay': {
      const inner = backoff(policy.policy, failures, draw)
      return inner && { delay: Math.min(inner.delay, policy.most), by: policy }
    }
    case 'FullJitter': {
      const inner = backoff(policy.policy, failures, undefined)
      return inner && { delay: draw === undefined ? inner.delay : share(draw, inner.delay), by: policy }
    }
    case 'Both':
      return longer(backoff(policy.left, failures, draw), backoff(policy.right, failures, draw))
    case 'Always':
    case 'LimitRetries':
    case 'Deadline':
    case 'NotBefore':
      return undefined
  }
}
