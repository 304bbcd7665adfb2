/**
 * Why a delivery failed. Plain data, and the only memory between attempts: what a failure says is stored with the item
 * and given back to the next attempt as `attempt.prior`. That is how a later round knows which URL refused for good.
 *
 * @module
 */

import type { Either } from 'fp-ts/lib/Either.js'

/** What a sink hands back for something it delivered. Plain data: it can be stored and printed. */
export interface Receipt {
  /** The name of the sink that took it. */
  readonly sink: string
  /** The HTTP status, for sinks that speak HTTP. */
  readonly status?: number
}

/** Reasons that headrace itself gives for a final no. A sink of your own may use words of its own. */
export type RefusedReason =
  'status' | 'redirect' | 'certificate' | 'blockedAddress' | 'badRequest' | 'rejected'

/** Reasons that headrace itself gives for a failure that may pass. A sink of your own may use words of its own. */
export type RetryableReason =
  'status' | 'timeout' | 'network' | 'laneFull' | 'late' | 'held' | 'halved' | 'threw' | 'defect'

/** Any other word, without losing the completions for ours. */
type OwnWord = string & Record<never, never>

/** A final no: trying again would change nothing. */
export interface Refused {
  readonly _tag: 'Refused'
  readonly reason: RefusedReason | OwnWord
  readonly status?: number
  /** For people; never holds a secret or a header's value. */
  readonly detail?: string
}

/** A failure that may pass. */
export interface Retryable {
  readonly _tag: 'Retryable'
  readonly reason: RetryableReason | OwnWord
  readonly status?: number
  /** Milliseconds since 1970; the receiver asked not to be tried again before (`Retry-After`). */
  readonly notBefore?: number
  /** For people; never holds a secret or a header's value. */
  readonly detail?: string
}

/** A first success that failed: the cause of every sink, in the order of the sinks. */
export interface AllFailed {
  readonly _tag: 'AllFailed'
  readonly causes: ReadonlyArray<Cause>
}

/** One sink's part in an `AllFailed`. */
export interface Cause {
  readonly sink: string
  readonly failure: Failure
}

/** A batch of which some members failed: one verdict for each member, by position. */
export interface PartlyFailed {
  readonly _tag: 'PartlyFailed'
  readonly members: ReadonlyArray<Either<Failure, Receipt>>
}

/** The deadline came (DE4). */
export interface Expired {
  readonly _tag: 'Expired'
  readonly attempts: number
  /** When the first attempt started, milliseconds since 1970. */
  readonly firstAttemptAt: number
  readonly lastFailure: Failure
}

/** Why a delivery failed. */
export type Failure = Refused | Retryable | AllFailed | PartlyFailed | Expired

/** A final no. */
export const refused = (reason: Refused['reason'], more: Omit<Refused, '_tag' | 'reason'> = {}): Refused => ({
  _tag: 'Refused',
  reason,
  ...more,
})

/** A failure that may pass. */
export const retryable = (
  reason: Retryable['reason'],
  more: Omit<Retryable, '_tag' | 'reason'> = {},
): Retryable => ({ _tag: 'Retryable', reason, ...more })

/** The failures of all sinks of a first success. */
export const allFailed = (causes: ReadonlyArray<Cause>): AllFailed => ({ _tag: 'AllFailed', causes })

/** The verdicts of a batch's members. */
export const partlyFailed = (members: ReadonlyArray<Either<Failure, Receipt>>): PartlyFailed => ({
  _tag: 'PartlyFailed',
  members,
})

/** The deadline came. */
export const expired = (attempts: number, firstAttemptAt: number, last: Failure): Expired => ({
  _tag: 'Expired',
  attempts,
  firstAttemptAt,
  lastFailure: last,
})

/** Whether another attempt could succeed: some part of the failure is retryable. */
export const isRetryable = (failure: Failure): boolean => {
  switch (failure._tag) {
    case 'Refused':
    case 'Expired':
      return false
    case 'Retryable':
      return true
    case 'AllFailed':
      return failure.causes.some((cause) => isRetryable(cause.failure))
    case 'PartlyFailed':
      return failure.members.some((member) => member._tag === 'Left' && isRetryable(member.left))
  }
}

/**
 * The earliest moment at which some part of the failure may be tried again; 0 if one may be tried at any time.
 * Undefined if no part is retryable. `Retry-After` holds back one URL only, so the earliest wins (DE1). Sinks of others write that
 * number too: one that is NaN names no moment.
 */
export const earliestRetry = (failure: Failure): number | undefined => {
  const earliest = (failures: ReadonlyArray<Failure>): number | undefined => {
    let found: number | undefined
    for (const each of failures) {
      const at = earliestRetry(each)
      if (at !== undefined && (found === undefined || at < found)) found = at
    }
    return found
  }
  switch (failure._tag) {
    case 'Refused':
    case 'Expired':
      return undefined
    case 'Retryable':
      return failure.notBefore === undefined || Number.isNaN(failure.notBefore) ? 0 : failure.notBefore
    case 'AllFailed':
      return earliest(failure.causes.map((cause) => cause.failure))
    case 'PartlyFailed':
      return earliest(failure.members.flatMap((member) => (member._tag === 'Left' ? [member.left] : [])))
  }
}

/** Whether nothing would change if it were tried again: it was taken, or no part of its failure is retryable. */
export const isFinal = (verdict: Either<Failure, Receipt>): boolean =>
  verdict._tag === 'Right' || !isRetryable(verdict.left)

/**
 * A failure that speaks of a whole batch, after attempts that settled some of its members: what was taken stays taken, and
 * what was refused for good stays refused. So neither is forgotten when a later attempt did not get as far as those members
 * (it was held back, its lane was full, its time was over). All other failures stand as they are.
 *
 * @param prior how the last attempt failed
 */
export const carried = (lastFailure: Failure | undefined, failure: Failure): Failure => {
  if (lastFailure?._tag !== 'PartlyFailed' || (failure._tag !== 'Refused' && failure._tag !== 'Retryable'))
    return failure
  if (!lastFailure.members.some(isFinal)) return failure
  const rest: Either<Failure, Receipt> = { _tag: 'Left', left: failure }
  return partlyFailed(lastFailure.members.map((member) => (isFinal(member) ? member : rest)))
}

/** Reasons that say that nothing was started: no room in the lane, no time left when there was, or a gate that was closed. */
const NOT_STARTED: ReadonlySet<string> = new Set<RetryableReason>(['laneFull', 'late', 'held'])

/** Whether anything was started in the attempt that failed so, as far as its failure tells. */
export const wasStarted = (failure: Failure): boolean => {
  switch (failure._tag) {
    case 'Retryable':
      return !NOT_STARTED.has(failure.reason)
    case 'AllFailed':
      return failure.causes.some((cause) => wasStarted(cause.failure))
    case 'PartlyFailed':
      return failure.members.some((member) => member._tag === 'Right' || wasStarted(member.left))
    case 'Refused':
    case 'Expired':
      return true
  }
}

/** One line for people: `https://a.example: 503 (status); https://b.example: certificate, self-signed`. */
export const show = (failure: Failure): string => {
  switch (failure._tag) {
    case 'Refused':
    case 'Retryable':
      return [failure.status === undefined ? failure.reason : `${failure.reason} ${String(failure.status)}`]
        .concat(failure.detail ?? [])
        .join(', ')
    case 'AllFailed':
      return failure.causes.map((cause) => `${cause.sink}: ${show(cause.failure)}`).join('; ')
    case 'PartlyFailed': {
      const failed = failure.members.flatMap((member) => (member._tag === 'Left' ? [show(member.left)] : []))
      return `${String(failed.length)} of ${String(failure.members.length)} failed: ${[...new Set(failed)].join('; ')}`
    }
    case 'Expired':
      return `expired after ${String(failure.attempts)} attempts, last: ${show(failure.lastFailure)}`
  }
}

/** How one delivery went. */
export type Verdict = Either<Failure, Receipt>
