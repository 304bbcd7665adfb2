/**
 * Why a delivery failed. Plain data: it is stored with the item and given to the next attempt as `attempt.lastFailure`, which therefore knows
 * which URL refused for good.
 *
 * @module
 */

import type { Either } from 'fp-ts/lib/Either.js'

/** What a sink answers for a delivery. Plain data: it can be stored and printed. */
export interface Receipt {
  /** The name of the sink. */
  readonly sink: string
  /** The HTTP status, for sinks that speak HTTP. */
  readonly status?: number
}

/** Reasons for a final refusal. A sink of your own may use other words. */
export type RefusedReason =
  'status' | 'redirect' | 'certificate' | 'blockedAddress' | 'badRequest' | 'rejected'

/** Reasons for a failure that may pass. A sink of your own may use other words. */
export type RetryableReason =
  'status' | 'timeout' | 'network' | 'laneFull' | 'late' | 'held' | 'halved' | 'threw' | 'defect'

/** Any other word; the editor still completes ours. */
type OwnWord = string & Record<never, never>

/** A final refusal: trying again would change nothing. */
export interface Refused {
  readonly _tag: 'Refused'
  readonly reason: RefusedReason | OwnWord
  readonly status?: number
  /** For logs; never holds a secret or a header's value. */
  readonly detail?: string
}

/** A failure that may pass. */
export interface Retryable {
  readonly _tag: 'Retryable'
  readonly reason: RetryableReason | OwnWord
  readonly status?: number
  /** Milliseconds since 1970: no attempt before (`Retry-After`). */
  readonly notBefore?: number
  /** For logs; never holds a secret or a header's value. */
  readonly detail?: string
}

/** Every sink of a first success failed: the cause of each, in their order. */
export interface AllFailed {
  readonly _tag: 'AllFailed'
  readonly causes: ReadonlyArray<Cause>
}

/** One sink's part in an `AllFailed`. */
export interface Cause {
  readonly sink: string
  readonly failure: Failure
}

/** Some members of a batch failed: one verdict for each member, by position. */
export interface PartlyFailed {
  readonly _tag: 'PartlyFailed'
  readonly members: ReadonlyArray<Either<Failure, Receipt>>
}

/** The retry policy gave up. */
export interface Expired {
  readonly _tag: 'Expired'
  readonly attempts: number
  /** When the first attempt started, milliseconds since 1970. */
  readonly firstAttemptAt: number
  readonly lastFailure: Failure
}

/** Why a delivery failed. */
export type Failure = Refused | Retryable | AllFailed | PartlyFailed | Expired

/** A final refusal. */
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

/** The retry policy gave up. */
export const expired = (attempts: number, firstAttemptAt: number, lastFailure: Failure): Expired => ({
  _tag: 'Expired',
  attempts,
  firstAttemptAt,
  lastFailure,
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
 * When some part of the failure may be tried again; 0 for at any time, undefined if no part is retryable. `Retry-After` holds back one URL
 * only, so the earliest counts. A NaN from a host's sink counts as 0.
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

/** Whether trying again would change nothing. */
export const isFinal = (verdict: Either<Failure, Receipt>): boolean =>
  verdict._tag === 'Right' || !isRetryable(verdict.left)

/**
 * A failure of a whole batch after attempts that settled some of its members: those stay settled, also when a later attempt did not reach
 * them (held back, no free connection, out of time). All other failures stay as they are.
 */
export const carried = (lastFailure: Failure | undefined, failure: Failure): Failure => {
  if (lastFailure?._tag !== 'PartlyFailed' || (failure._tag !== 'Refused' && failure._tag !== 'Retryable'))
    return failure
  if (!lastFailure.members.some(isFinal)) return failure
  const rest: Either<Failure, Receipt> = { _tag: 'Left', left: failure }
  return partlyFailed(lastFailure.members.map((member) => (isFinal(member) ? member : rest)))
}

/** Reasons that say that no request was started. */
const NOT_STARTED: ReadonlySet<string> = new Set<RetryableReason>(['laneFull', 'late', 'held'])

/** Whether the failed attempt started a request. */
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

/** One line: `https://a.example: 503 (status); https://b.example: certificate, self-signed`. */
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
