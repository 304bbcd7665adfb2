/** The decision about an item after an attempt: the one decision of retry, pure. */
import { isRight, lefts } from '../core/either.ts'
import type { Random } from '../core/clock.ts'
import { carried, earliestRetry, expired as expiredFailure, isRetryable, partsOf } from '../core/failure.ts'
import type { Failure, Verdict } from '../core/failure.ts'
import { delivered, expired, rejected } from '../core/outcome.ts'
import type { Delivered, Expired, Progress, Rejected } from '../core/outcome.ts'
import { limitsOf, show, type RetryPolicy } from './retryPolicy.ts'

/** The decision about an item after an attempt: it waits for the next one, or has its outcome. */
export type Step<A> = Wait | Delivered<A> | Rejected<A> | Expired<A>

/** The next attempt starts at `due`. */
export interface Wait {
  readonly _tag: 'Wait'
  /** Milliseconds since 1970, before the deadline. */
  readonly due: number
  /** Milliseconds from now, at least 1. */
  readonly delay: number
  /** The cause of the delay: the policy's part, in the words of `show`; `Retry-After`; a gate's name. */
  readonly because: string
  /** The data to store, and to give back with the next verdict. */
  readonly progress: Progress
}

/** A delay, and the part of the policy that gave it. Whole milliseconds; -1 if no part gives a delay. */
type Backoff = Readonly<{ delay: number; by: RetryPolicy | undefined }>

const NO_BACKOFF: Backoff = { delay: -1, by: undefined }

/** Some 31,000 years. Delays that grow without a cap stop here, so that due times stay whole numbers. */
const LONGEST_DELAY = 1e15

/**
 * The delay after this number of failures (1 or more). One draw serves all parts, so their order is free.
 * `draw` is NaN inside a jitter, which wants the full delay.
 */
const backoff = (policy: RetryPolicy, failures: number, draw: number): Backoff => {
  switch (policy._tag) {
    case 'Exponential': {
      const delay = Math.min(Math.floor(policy.base * policy.factor ** (failures - 1)), LONGEST_DELAY)
      return { delay, by: policy }
    }
    case 'CapDelay': {
      const { delay, by } = backoff(policy.policy, failures, draw)
      return { delay: Math.min(delay, policy.maxDelay), by: by && policy }
    }
    case 'FullJitter': {
      const { delay, by } = backoff(policy.policy, failures, NaN)
      // Evenly from 0 to the full delay, both included. A Random that answers 1 or NaN gives the full delay.
      const drawn = Math.floor(draw * (delay + 1))
      return { delay: drawn <= delay ? drawn : delay, by: by && policy }
    }
    case 'Both': {
      const left = backoff(policy.left, failures, draw)
      const right = backoff(policy.right, failures, draw)
      return right.delay > left.delay ? right : left
    }
    default:
      return NO_BACKOFF
  }
}

/** Whether a gate holds back every part that may be tried again. */
const isGated = (failure: Failure): boolean =>
  failure._tag === 'Retryable'
    ? failure.reason === 'held' || failure.reason === 'closed'
    : failure._tag === 'PartlyFailed' &&
      failure.members.every((member) => isRight(member) || !isRetryable(member.left) || isGated(member.left))

/** The gate that holds back the part that may be tried first, unless that is a `Retry-After`. */
const gateOf = (failure: Failure): string | undefined => {
  if (failure._tag === 'Retryable') return failure.gate
  const first = earliestRetry(failure)
  const [part] = lefts(partsOf(failure)).filter((each) => earliestRetry(each) === first)
  return part && gateOf(part)
}

/** When the next attempt starts, and why then. */
const next = (given: Backoff, honours: boolean, failure: Failure, now: number) => {
  const rested = now + Math.max(1, given.delay)
  // A first success and a gate hold back by themselves: before their time an attempt would send nothing.
  const isHeldBack = honours || failure._tag === 'AllFailed' || failure._tag === 'NotAll' || isGated(failure)
  // A host's sink may give any number, so it is made whole and finite here.
  const held = isHeldBack ? Math.min(Math.ceil(earliestRetry(failure) ?? 0), now + LONGEST_DELAY) : 0
  const gate = gateOf(failure)
  if (held > rested) return { due: held, because: gate ?? 'Retry-After' }
  const words = given.by === undefined ? 'no backoff' : show(given.by)
  return { due: rested, because: gate === undefined ? words : `${gate}, ${words}` }
}

/**
 * Draws from `random` exactly once when the failure is retryable, and not at all otherwise.
 *
 * - A success is delivered; a failure of which no part is retryable is rejected. An `Expired` from a retry
 *   inside this one expires.
 * - Members of a batch that earlier attempts settled stay settled (`carried`).
 * - Else the next attempt is due after the backoff, or when the receiver wants it, whichever is later. If
 *   that is at or after `firstAttemptAt` + deadline, or if the retries are used up, the item expires now.
 *
 * @param progress the last answer of `step`; undefined after the first attempt
 * @param firstAttemptAt milliseconds since 1970; `Infinity` before the first request: no limit counts then
 * @param now the time of the verdict, whole milliseconds since 1970
 */
export const step = <A>(
  policy: RetryPolicy,
  item: A,
  progress: Progress | undefined,
  firstAttemptAt: number,
  verdict: Verdict,
  now: number,
  random: Random,
): Step<A> => {
  const attempts = (progress?.attempts ?? 0) + 1
  if (isRight(verdict)) return delivered(item, attempts, verdict.right)
  const failure = carried(progress?.lastFailure, verdict.left)
  if (failure._tag === 'Expired') return expired(item, failure)
  if (!isRetryable(failure)) return rejected(item, attempts, failure)
  const { retries, within, obeysRetryAfter } = limitsOf(policy)
  const { due, because } = next(backoff(policy, attempts, random()), obeysRetryAfter, failure, now)
  if (firstAttemptAt < Infinity && (attempts > retries || due >= firstAttemptAt + within)) {
    const limit = attempts > retries ? 'attempts' : 'deadline'
    return expired(item, expiredFailure(attempts, firstAttemptAt, failure, limit))
  }
  return { _tag: 'Wait', due, delay: due - now, because, progress: { attempts, lastFailure: failure } }
}
