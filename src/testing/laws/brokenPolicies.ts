import { map } from 'fp-ts/lib/Record.js'
import { always, both, capDelay, deadline, exponential, fullJitter } from '../../policy/retryPolicy.ts'
import { limitRetries, respectRetryAfter, type RetryPolicy } from '../../policy/retryPolicy.ts'
import type { AskedPolicy, MakePolicy } from './policyLaws.ts'

/** The policy of headrace's parts that keeps what is asked. */
export const policyFor = (asked: AskedPolicy): RetryPolicy => {
  const { base, factor, maxDelay, jitter, maxRetries, within, retryAfter } = asked
  const growing = exponential({ base, factor })
  const capped = maxDelay === null ? growing : capDelay(maxDelay)(growing)
  return [
    maxRetries === null ? always : limitRetries(maxRetries),
    within === null ? always : deadline(within),
    retryAfter ? respectRetryAfter : always,
  ].reduce(both, jitter ? fullJitter(capped) : capped)
}

/** Keeps another promise than the one that was asked for. */
const asking =
  (change: (asked: AskedPolicy) => Partial<AskedPolicy>): MakePolicy =>
  (asked) =>
    policyFor({ ...asked, ...change(asked) })

/** Faults that this law finds. */
export const breaks = <Name extends string>(law: string, faults: Readonly<Record<Name, MakePolicy>>) =>
  map((make: MakePolicy) => ({ breaks: `policy/${law}`, make }))(faults)

/** Policies with one fault each. */
export const brokenPolicies = {
  ...breaks('backoff-within-its-bounds', {
    'leaves out the maximum delay': asking(() => ({ maxDelay: null })),
    'draws the jitter before it caps the delay': (asked) => {
      const { maxDelay } = asked
      const uncapped = policyFor({ ...asked, maxDelay: null })
      return maxDelay === null ? uncapped : capDelay(maxDelay)(uncapped)
    },
    'leaves out the jitter': asking(() => ({ jitter: false })),
  }),
  ...breaks('due-when-both-allow-it', {
    'ignores Retry-After': asking(() => ({ retryAfter: false })),
    'obeys Retry-After, though it is not asked to': asking(() => ({ retryAfter: true })),
  }),
  ...breaks('gives-up-in-time', {
    'starts an attempt at the deadline': asking(({ within }) => ({ within: within && within + 1 })),
    'allows one retry more': asking(({ maxRetries: most }) => ({
      maxRetries: most === null ? most : most + 1,
    })),
  }),
}
