/**
 * What becomes of an item after an attempt: the one decision of retry, pure. The relay obeys it (DE4, DE5).
 *
 * @module
 */

import { isRight } from 'fp-ts/lib/Either.js'
import type { Random } from '../core/clock.ts'
import { carried, earliestRetry, expired, isFinal, isRetryable } from '../core/failure.ts'
import type { Expired, Failure, Receipt, Verdict } from '../core/failure.ts'
import type { Progress } from '../core/outcome.ts'
import { LONGEST_DELAY, backoff, limitsOf } from './retryPolicy.ts'
import type { RetryPolicy } from './retryPolicy.ts'
import { show } from './show.ts'

/** What becomes of an item after an attempt. `attempts` counts that attempt too. */
export type Step = Deliver | Reject | Expire | Wait

/** It was delivered. */
export interface Deliver {
  readonly _tag: 'Deliver'
  readonly attempts: number
  readonly receipt: Receipt
}

/** A final no. */
export interface Reject {
  readonly _tag: 'Reject'
  readonly attempts: number
  readonly failure: Failure
}

/** The policy gives up: the next attempt would be at or after the deadline, or there have been as many as it allows. */
export interface Expire {
  readonly _tag: 'Expire'
  readonly attempts: number
  readonly failure: Expired
}

/** The next attempt starts at `due`. */
export interface Wait {
  readonly _tag: 'Wait'
  /** Milliseconds since 1970, before the deadline. */
  readonly due: number
  /** Milliseconds from now, at least 1. */
  readonly delay: number
  /** What set the delay: the part of the policy, in the words of `show`, or `Retry-After`. */
  readonly because: string
  /** What to store, and to give back with the next verdict. */
  readonly progress: Progress
}

/** Whether a gate stands before whatever may be tried again. */
const isGated = (failure: Failure): boolean =>
  failure._tag === 'PartlyFailed'
    ? failure.members.every((member) => isFinal(member) || (member._tag === 'Left' && isGated(member.left)))
    : failure._tag === 'Retryable' && failure.reason === 'held'

/**
 * Whether to wait for the moment that the failure names. A policy without `notBefore` ignores the receiver's wish, except after
 * a first success and before a gate (CL4): those hold back by themselves (DE1), so a round before that moment would ask nobody.
 */
const isHeldBack = (honours: boolean, failure: Failure): boolean =>
  honours || failure._tag === 'AllFailed' || isGated(failure)

/** When a held-back item may be tried. Sinks of others write that number too, so it is made whole and finite here. */
const heldUntil = (failure: Failure, now: number): number =>
  Math.min(Math.ceil(earliestRetry(failure) ?? 0), now + LONGEST_DELAY)

/** When the next attempt starts, and why then. */
const next = (
  policy: RetryPolicy,
  honours: boolean,
  failures: number,
  failure: Failure,
  now: number,
  random: Random,
): { readonly due: number; readonly because: string } => {
  const given = backoff(policy, failures, random())
  const rested = now + Math.max(1, given?.delay ?? 0)
  const held = isHeldBack(honours, failure) ? heldUntil(failure, now) : 0
  if (held > rested) return { due: held, because: 'Retry-After' }
  return { due: rested, because: given === undefined ? 'no backoff' : show(given.by) }
}

/**
 * What to do after a verdict. Draws from `random` exactly once when the failure is retryable, and not at all otherwise.
 *
 * - A success is delivered, and a failure of which no part is retryable is rejected, whatever the policy says. If it is the
 *   `Expired` of a retry inside this one, it stays that: time was over, nobody refused.
 * - What earlier attempts settled of a batch's members stays settled (`carried`), so a batch of which the rest is refused is rejected
 *   with what was taken of it in its failure.
 * - Else the next attempt is due after the backoff, or when the receiver wants it, whichever is later. If that is at or after
 *   `since` + deadline, or if the retries are used up, the item expires now: nothing is gained by waiting for it.
 *
 * @param progress what `step` answered the last time; undefined after the first attempt
 * @param since when the first attempt started, milliseconds since 1970
 * @param now when the verdict came, whole milliseconds since 1970
 */
export const step = (
  policy: RetryPolicy,
  progress: Progress | undefined,
  firstAttemptAt: number,
  verdict: Verdict,
  now: number,
  random: Random,
): Step => {
  const attempts = (progress?.attempts ?? 0) + 1
  if (isRight(verdict)) return { _tag: 'Deliver', attempts, receipt: verdict.right }
  const failure = carried(progress?.lastFailure, verdict.left)
  // A retry inside this one gave up: that is an end of time, not a refusal.
  if (failure._tag === 'Expired') return { _tag: 'Expire', attempts: failure.attempts, failure }
  if (!isRetryable(failure)) return { _tag: 'Reject', attempts, failure }
  const { retries, within, honours } = limitsOf(policy)
  const { due, because } = next(policy, honours, attempts, failure, now, random)
  if (attempts > retries || due >= firstAttemptAt + within) {
    return { _tag: 'Expire', attempts, failure: expired(attempts, firstAttemptAt, failure) }
  }
  return { _tag: 'Wait', due, delay: due - now, because, progress: { attempts, lastFailure: failure } }
}
