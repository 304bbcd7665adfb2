import type { RetryPolicy } from './RetryPolicy.ts'

/** What a policy allows, apart from the delays it gives. */
export interface Limits {
  /** Retries after the first attempt; Infinity if there is no limit. */
  readonly retries: number
  /** Milliseconds from the start of the first attempt; no attempt starts then or later. Infinity if there is no deadline. */
  readonly within: number
  /** Whether the receiver's `Retry-After` is obeyed. */
  readonly honours: boolean
}

const NONE: Limits = { retries: Infinity, within: Infinity, honours: false }

/** All the limits of a policy as one: either part of a combination may stop. */
export const limitsOf = (policy: RetryPolicy): Limits => {
  switch (policy._tag) {
    case 'Always':
    case 'Exponential':
      return NONE
    case 'CapDelay':
    case 'FullJitter':
      return limitsOf(policy.policy)
    case 'LimitRetries':
      return { ...NONE, retries: policy.most }
    case 'Deadline':
      return { ...NONE, within: policy.within }
    case 'NotBefore':
      return { ...NONE, honours: true }
    case 'Both': {
      const left = limitsOf(policy.left)
      const right = limitsOf(policy.right)
      return {
        retries: Math.min(left.retries, right.retries),
        within: Math.min(left.within, right.within),
        honours: left.honours || right.honours,
      }
    }
  }
}
