/**
 * When to try again, as a value. Policies combine (a monoid), can be printed, and list the attempts they would make.
 *
 * @module
 */

/** What a policy is made of. Plain data. */
export type RetryPolicy =
  | { readonly _tag: 'Always' }
  | { readonly _tag: 'Exponential'; readonly first: number; readonly factor: number }
  | { readonly _tag: 'CapDelay'; readonly most: number; readonly policy: RetryPolicy }
  | { readonly _tag: 'FullJitter'; readonly policy: RetryPolicy }
  | { readonly _tag: 'LimitRetries'; readonly most: number }
  | { readonly _tag: 'Deadline'; readonly within: number }
  | { readonly _tag: 'NotBefore' }
  | { readonly _tag: 'Both'; readonly left: RetryPolicy; readonly right: RetryPolicy }
