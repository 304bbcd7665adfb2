/**
 * When to try again, as a value. A policy is plain data: it combines with others, can be printed (`show`), and lists the
 * attempts it would make (`plan`). What it decides is decided by `step`, which obeys three rules:
 *
 * - Parts that give a delay: `exponential`, shaped by `capDelay` and `fullJitter`. The longest delay wins; it is at least 1 ms.
 * - Parts that stop: `limitRetries` and `deadline`. Any of them may stop.
 * - `notBefore` waits for as long as the receiver asked. That wish is neither capped nor jittered.
 *
 * @module
 */
import type * as M from 'fp-ts/lib/Monoid.js'
import { wholeNumber } from '../internal/wholeNumber.ts'

/** What a policy is made of. Plain data; make it with the constructors, which check their numbers. */
export type RetryPolicy =
  | { readonly _tag: 'Always' }
  | { readonly _tag: 'Exponential'; readonly base: number; readonly factor: number }
  | { readonly _tag: 'CapDelay'; readonly most: number; readonly policy: RetryPolicy }
  | { readonly _tag: 'FullJitter'; readonly policy: RetryPolicy }
  | { readonly _tag: 'LimitRetries'; readonly most: number }
  | { readonly _tag: 'Deadline'; readonly within: number }
  | { readonly _tag: 'NotBefore' }
  | { readonly _tag: 'Both'; readonly left: RetryPolicy; readonly right: RetryPolicy }

/** How `exponential` grows. */
export interface ExponentialOptions {
  /** The delay after the first failure, in whole milliseconds, at least 1. Default 1,000. */
  readonly base?: number
  /** Each further failure multiplies the delay by it; at least 1, which is a constant delay. Default 2. */
  readonly factor?: number
}

/** Tries again for ever, as soon as it can (after 1 ms). The identity of `both`, to which other parts are added. */
export const always: RetryPolicy = { _tag: 'Always' }

/**
 * Waits `base` after the first failure, `base * factor` after the second, and so on (DE5).
 *
 * @throws RangeError when `base` is not a whole number from 1, or `factor` not a number from 1.
 * @example
 * import { exponential, plan } from 'headrace'
 *
 * const delays = plan(exponential({ base: 500 }), { most: 4, random: () => 0 }).map((attempt) => attempt.delay)
 * console.log(delays) // => [ 0, 500, 1000, 2000 ]
 */
export const exponential = ({ base = 1_000, factor = 2 }: ExponentialOptions = {}): RetryPolicy => {
  if (!(factor >= 1 && factor < Infinity)) {
    throw new RangeError(`exponential: factor must be a finite number from 1, got ${String(factor)}`)
  }
  return { _tag: 'Exponential', base: wholeNumber('exponential: base', 'ms', 1, base), factor }
}

/**
 * Lets no delay of `policy` be longer than `most` milliseconds, its jitter included (DE5).
 *
 * @throws RangeError when `most` is not a whole number from 1.
 * @example
 * import { capDelay, exponential } from 'headrace'
 * import { pipe } from 'fp-ts/lib/function.js'
 *
 * const policy = pipe(exponential(), capDelay(600_000)) // 1 s, 2 s, 4 s ... 512 s, 600 s, 600 s ...
 */
export const capDelay = (most: number): ((policy: RetryPolicy) => RetryPolicy) => {
  const checked = wholeNumber('capDelay: most', 'ms', 1, most)
  return (policy) => ({ _tag: 'CapDelay', most: checked, policy })
}

/**
 * Draws each delay evenly from 0 up to what `policy` says, so that messages that failed together do not come back
 * together (DE5). A draw of 0 is raised to 1 ms. Jitter inside jitter counts once.
 */
export const fullJitter = (policy: RetryPolicy): RetryPolicy => ({ _tag: 'FullJitter', policy })

/**
 * At most so many retries: with 3, the fourth failure ends the item as expired. 0 means one attempt and no retry.
 *
 * @throws RangeError when `most` is not a whole number from 0.
 */
export const limitRetries = (most: number): RetryPolicy => ({
  _tag: 'LimitRetries',
  most: wholeNumber('limitRetries: most', 'retries', 0, most),
})

/**
 * No attempt starts `within` milliseconds after the start of the first, or later. An item whose next attempt would have to
 * wait for so long ends at once as expired (DE4).
 *
 * @throws RangeError when `within` is not a whole number from 1. For no deadline, leave the part out.
 */
export const deadline = (within: number): RetryPolicy => ({
  _tag: 'Deadline',
  within: wholeNumber('deadline: within', 'ms', 1, within),
})

/** Waits at least as long as the receiver asked (`Retry-After`); if that reaches the deadline, the item has expired (DE2). */
export const notBefore: RetryPolicy = { _tag: 'NotBefore' }

/**
 * Both policies at once: either may stop, and the longer delay wins. The order of the two changes nothing but the words of
 * `show`.
 *
 * @example
 * import { both, exponential, limitRetries, plan } from 'headrace'
 *
 * const policy = both(exponential(), limitRetries(2))
 * console.log(plan(policy, { random: () => 0 }).map((attempt) => attempt.at)) // => [ 0, 1000, 3000 ]
 */
export const both = (left: RetryPolicy, right: RetryPolicy): RetryPolicy => ({ _tag: 'Both', left, right })

/**
 * Policies combine: `both` is associative, and `always` changes nothing. For use with fp-ts, whose `concatAll` takes any
 * number of them.
 */
export const Monoid: M.Monoid<RetryPolicy> = { concat: both, empty: always }

/**
 * The policy that the four hours of DE4 and the backoff of DE5 describe; it is the default everywhere:
 * `exponential from 1s x2, at most 10m, full jitter; until 4h; not before Retry-After`. If every attempt times out after 5 s,
 * it makes 48 to 65 of them in 98 of 100 cases.
 */
export const standard: RetryPolicy = both(
  fullJitter(capDelay(600_000)(exponential())),
  both(deadline(14_400_000), notBefore),
)
