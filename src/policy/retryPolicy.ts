/**
 * When to try again, as a value. A policy is plain data: it combines with others, can be printed (`show`),
 * and lists the attempts it would make (`plan`). `step` decides by it, with three rules:
 *
 * - `exponential`, shaped by `capDelay` and `fullJitter`, gives a delay. The longest delay wins; it is at
 *   least 1 ms.
 * - `limitRetries` and `deadline` stop. Any of them may stop.
 * - `respectRetryAfter` waits as long as the receiver asks (`Retry-After`), neither capped nor jittered.
 */
import type * as M from 'fp-ts/lib/Monoid.js'
import type { Random } from '../core/clock.ts'
import { isRecord } from '../core/json.ts'
import { checkOptions, guarded, strict, wholeNumber, withDefault } from '../core/options.ts'

/** The parts of a policy. Plain data; make it with the constructors, which check their numbers. */
export type RetryPolicy =
  | { readonly _tag: 'Always' }
  | { readonly _tag: 'Exponential'; readonly base: number; readonly factor: number }
  | { readonly _tag: 'CapDelay'; readonly maxDelay: number; readonly policy: RetryPolicy }
  | { readonly _tag: 'FullJitter'; readonly policy: RetryPolicy }
  | { readonly _tag: 'LimitRetries'; readonly maxRetries: number }
  | { readonly _tag: 'Deadline'; readonly within: number }
  | { readonly _tag: 'RespectRetryAfter' }
  | { readonly _tag: 'Both'; readonly left: RetryPolicy; readonly right: RetryPolicy }

/** How a part retries. @inline */
export interface Retrying {
  /**
   * When to retry. Default `standard`: exponential from 1 s, at most 10 min, full jitter, until 4 h after the
   * first attempt.
   */
  readonly retry?: RetryPolicy
  /** Numbers from 0 up to, but not including, 1. Default: the machine's. */
  readonly random?: Random
}

/** How `exponential` grows. */
export interface ExponentialOptions {
  /** The delay after the first failure, in whole milliseconds, at least 1. Default 1,000. */
  readonly base?: number
  /** Each further failure multiplies the delay by it. At least 1, for a constant delay. Default 2. */
  readonly factor?: number
}

/** Tries again for ever, after 1 ms. The identity of `both`, to which other parts are added. */
export const always: RetryPolicy = { _tag: 'Always' }

const isFactor = (value: unknown): value is number => Number.isFinite(value) && Number(value) >= 1

const exponentialOptions = strict({
  base: withDefault(wholeNumber('ms', 1), 1_000),
  factor: withDefault(guarded('a finite number from 1', isFactor, String), 2),
})

/**
 * Waits `base` after the first failure, `base * factor` after the second, and so on.
 *
 * @throws ConfigError when `base` is not a whole number from 1, or `factor` not a number from 1.
 * @example
 * import { exponential, plan } from 'headrace/policy'
 *
 * const attempts = plan(exponential({ base: 500 }), { maxAttempts: 4, random: () => 0 })
 * console.log(attempts.map((attempt) => attempt.delay)) // => [ 0, 500, 1000, 2000 ]
 */
export const exponential = (options: ExponentialOptions = {}): RetryPolicy => ({
  _tag: 'Exponential',
  ...checkOptions('exponential options', exponentialOptions, options),
})

/**
 * Lets no delay of `policy` be longer than `maxDelay` milliseconds, its jitter included.
 *
 * @throws ConfigError when `maxDelay` is not a whole number from 1.
 * @example
 * import { capDelay, exponential } from 'headrace/policy'
 * import { pipe } from 'fp-ts/lib/function.js'
 *
 * const policy = pipe(exponential(), capDelay(600_000)) // 1 s, 2 s, 4 s ... 512 s, 600 s, 600 s ...
 */
export const capDelay = (maxDelay: number): ((policy: RetryPolicy) => RetryPolicy) => {
  const checked = checkOptions('capDelay', wholeNumber('ms', 1), maxDelay)
  return (policy) => ({ _tag: 'CapDelay', maxDelay: checked, policy })
}

/**
 * Draws each delay evenly from 0 up to that of `policy`, so that messages that failed together do not come
 * back together. A draw of 0 becomes 1 ms. Jitter inside jitter counts once.
 */
export const fullJitter = (policy: RetryPolicy): RetryPolicy => ({ _tag: 'FullJitter', policy })

/**
 * The maximum number of retries: with 3, the fourth failure ends the item as expired. 0 means one attempt and
 * no retry.
 *
 * @throws ConfigError when `maxRetries` is not a whole number from 0.
 */
export const limitRetries = (maxRetries: number): RetryPolicy => ({
  _tag: 'LimitRetries',
  maxRetries: checkOptions('limitRetries', wholeNumber('retries', 0), maxRetries),
})

/**
 * No attempt starts `within` milliseconds after the start of the first, or later. An item whose next attempt
 * would be due then ends at once as expired.
 *
 * @throws ConfigError when `within` is not a whole number from 1. For no deadline, leave the part out.
 */
export const deadline = (within: number): RetryPolicy => ({
  _tag: 'Deadline',
  within: checkOptions('deadline', wholeNumber('ms', 1), within),
})

/** Waits at least as long as `Retry-After` asks. If that reaches the deadline, the item expires. */
export const respectRetryAfter: RetryPolicy = { _tag: 'RespectRetryAfter' }

/**
 * Both policies at once: either may stop, and the longer delay wins. The order of the two changes only the
 * words of `show`.
 *
 * @example
 * import { both, exponential, limitRetries, plan } from 'headrace/policy'
 *
 * const policy = both(exponential(), limitRetries(2))
 * console.log(plan(policy, { random: () => 0 }).map((attempt) => attempt.at)) // => [ 0, 1000, 3000 ]
 */
export const both = (left: RetryPolicy, right: RetryPolicy): RetryPolicy => ({ _tag: 'Both', left, right })

/** Policies for fp-ts's `concatAll`: `both` is associative, and `always` changes nothing. */
export const Monoid: M.Monoid<RetryPolicy> = { concat: both, empty: always }

/**
 * The default everywhere: `exponential from 1s x2, at most 10m, full jitter; until 4h; not before
 * Retry-After`. If every attempt times out after 5 s, it makes 48 to 65 attempts in 98 of 100 cases.
 */
export const standard: RetryPolicy = both(
  fullJitter(capDelay(600_000)(exponential())),
  both(deadline(14_400_000), respectRetryAfter),
)

const isFrom = (least: number, value: unknown): boolean => typeof value === 'number' && value >= least

/** Whether a value is a policy down to its parts: it may come from a file or be made by hand. */
export const isRetryPolicy = (value: unknown): value is RetryPolicy => {
  if (!isRecord(value)) return false
  const { _tag, base, factor, maxDelay, maxRetries, within, policy, left, right } = value
  switch (_tag) {
    case 'Always':
    case 'RespectRetryAfter':
      return true
    case 'Exponential':
      return isFrom(1, base) && isFrom(1, factor)
    case 'CapDelay':
      return isFrom(1, maxDelay) && isRetryPolicy(policy)
    case 'FullJitter':
      return isRetryPolicy(policy)
    case 'LimitRetries':
      return isFrom(0, maxRetries)
    case 'Deadline':
      return isFrom(1, within)
    case 'Both':
      return isRetryPolicy(left) && isRetryPolicy(right)
    default:
      return false
  }
}

export const retryOption = guarded('a policy of headrace/policy, such as exponential()', isRetryPolicy)

/** The limits of a policy, apart from its delays. */
export interface Limits {
  /** Retries after the first attempt; Infinity if there is no limit. */
  readonly retries: number
  /** Milliseconds from the first attempt's start, after which none starts. Infinity without a deadline. */
  readonly within: number
  /** Whether the receiver's `Retry-After` is obeyed. */
  readonly obeysRetryAfter: boolean
}

/** Computes once for each policy: every retry asks (measured). */
const remembered = <T>(compute: (policy: RetryPolicy) => T): ((policy: RetryPolicy) => T) => {
  const known = new WeakMap<RetryPolicy, T>()
  return (policy) => {
    const value = known.get(policy) ?? compute(policy)
    known.set(policy, value)
    return value
  }
}

const NONE: Limits = { retries: Infinity, within: Infinity, obeysRetryAfter: false }

/** All the limits of a policy as one: either part of a combination may stop. */
export const limitsOf = remembered((policy): Limits => {
  switch (policy._tag) {
    case 'Always':
    case 'Exponential':
      return NONE
    case 'CapDelay':
    case 'FullJitter':
      return limitsOf(policy.policy)
    case 'LimitRetries':
      return { ...NONE, retries: policy.maxRetries }
    case 'Deadline':
      return { ...NONE, within: policy.within }
    case 'RespectRetryAfter':
      return { ...NONE, obeysRetryAfter: true }
    case 'Both': {
      const left = limitsOf(policy.left)
      const right = limitsOf(policy.right)
      return {
        retries: Math.min(left.retries, right.retries),
        within: Math.min(left.within, right.within),
        obeysRetryAfter: left.obeysRetryAfter || right.obeysRetryAfter,
      }
    }
  }
})

/** For how many milliseconds from the first attempt's start others may start; Infinity without a deadline. */
export const deadlineOf = (policy: RetryPolicy): number => limitsOf(policy).within

const UNITS = Object.entries({ h: 3_600_000, m: 60_000, s: 1_000 })

/** Whole milliseconds in the largest unit that leaves no rest: `4h`, `90s`, `1500ms`. */
export const showDuration = (ms: number): string => {
  const [name, size] = UNITS.find(([, each]) => ms >= each && ms % each === 0) ?? ['ms', 1]
  return `${String(ms / size)}${name}`
}

/** A combined policy inside a cap or a jitter stands in parentheses. */
const bracketed = (each: RetryPolicy): string => (parts(each).length > 1 ? `(${show(each)})` : show(each))

/** The parts that stand side by side, in words. `always` adds nothing, so it is not shown beside others. */
const parts = (policy: RetryPolicy): ReadonlyArray<string> => {
  switch (policy._tag) {
    case 'Always':
      return []
    case 'Exponential':
      return [`exponential from ${showDuration(policy.base)} x${String(policy.factor)}`]
    case 'CapDelay':
      return [`${bracketed(policy.policy)}, at most ${showDuration(policy.maxDelay)}`]
    case 'FullJitter':
      return [`${bracketed(policy.policy)}, full jitter`]
    case 'LimitRetries':
      return [policy.maxRetries === 1 ? 'at most 1 retry' : `at most ${String(policy.maxRetries)} retries`]
    case 'Deadline':
      return [`until ${showDuration(policy.within)}`]
    case 'RespectRetryAfter':
      return ['not before Retry-After']
    case 'Both':
      return [...parts(policy.left), ...parts(policy.right)]
  }
}

/**
 * A policy in words, its parts separated by semicolons: `exponential from 1s x2, at most 10m, full jitter;
 * until 4h`. Policies that differ only in grouping read the same.
 */
export const show = remembered((policy): string => parts(policy).join('; ') || 'always')
