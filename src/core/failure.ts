/**
 * The cause of a failed delivery. Plain data: it is stored with the item and given to the next attempt as
 * `attempt.lastFailure`, which therefore knows which URL refused for good. @module
 */
import { isLeft, isRight, left, lefts, right, valueOr, type Either } from './either.ts'
import { flat, isRecord } from './json.ts'

/** A sink's answer to a successful delivery. Plain data: it can be stored and printed. */
export interface Receipt {
  /** The name of the sink. */
  readonly sink: string
  /** The HTTP status, for sinks that speak HTTP. */
  readonly status?: number
  /** Set by `withDedupe`: the item was delivered before, and not sent again. */
  readonly duplicate?: true
}

/** Reasons for a final refusal. A sink of your own may use other words. @inline */
type RefusedReason =
  /** A status that is final. */
  | 'status'
  /** Redirects are never followed. */
  | 'redirect'
  /** It does not verify, or the receiver did not accept ours. */
  | 'certificate'
  /** The rules of `egress` forbid the address. */
  | 'blockedAddress'
  /** The request cannot be written as HTTP. Nothing was sent. */
  | 'badRequest'
  /** The answer says that it was not taken; or it is no item. */
  | 'rejected'
  /** An outbox or a memory sink was full. */
  | 'noRoom'
  /** `ndjson` cannot write it as one line. */
  | 'format'
  /** The stream of `ndjson` is closed. */
  | 'closed'
  /** A `route` has no sink for its key. */
  | 'noRoute'
  /** A sink of payloads received another value. */
  | 'notAPayload'
  /** Its text was changed after `sign`. */
  | 'changedAfterSign'

/** Reasons for a failure that may pass. A sink of your own may use other words. @inline */
type RetryableReason =
  /** A status that may pass. */
  | 'status'
  /** No connection or no verdict in time. */
  | 'timeout'
  /** The connection failed. */
  | 'network'
  /** The queue of `withConcurrency` is full. No request was started. */
  | 'queueFull'
  /** The deadline came before the request could start. */
  | 'late'
  /** A gate held it back (a Retry-After, a rate, a circuit), a full `route`, or an update of the settings. */
  | 'held'
  /** Refused with its batch, and not sent again by itself. */
  | 'halved'
  /** The function of a sink threw. */
  | 'threw'
  /** The sink was closed, or its close cut the attempt. */
  | 'closed'
  /** A sink threw or errored in place of a verdict. */
  | 'defect'
  /** Cancelled before its answer; it may have arrived. */
  | 'cut'
  /** A write of `ndjson` to its file failed. */
  | 'io'

/** Any other word; the editor still completes ours. @inline */
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
  /** The gate that held it back, if that was not a `Retry-After`. */
  readonly gate?: 'rate' | 'circuit'
  /** For logs, as in `Refused`. Of `threw` and `defect` the message is last: `showFailure` leaves it out. */
  readonly detail?: string
}

/** Every sink of a `firstSuccess` or `failover` failed: the cause of each, in their order. */
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

/** Some sinks of a `toAll` did not take the item: the verdict of each, in their order. */
export interface NotAll {
  readonly _tag: 'NotAll'
  readonly verdicts: ReadonlyArray<SinkVerdict>
}

/** One sink's part in a `NotAll`. */
export interface SinkVerdict {
  readonly sink: string
  readonly verdict: Either<Failure, Receipt>
}

/** The retry policy gave up. */
export interface ExpiredFailure {
  readonly _tag: 'Expired'
  readonly attempts: number
  /** When the first attempt started, milliseconds since 1970. */
  readonly firstAttemptAt: number
  readonly lastFailure: Failure
  /** Which limit was reached. Missing in a dead letter of an older version. */
  readonly because?: 'deadline' | 'attempts'
}

/** Why a delivery failed. */
export type Failure = Refused | Retryable | AllFailed | NotAll | PartlyFailed | ExpiredFailure

/** A final refusal. */
export const refused = (reason: Refused['reason'], more: Omit<Refused, '_tag' | 'reason'> = {}): Refused => {
  return { _tag: 'Refused', reason, ...more }
}

/** A failure that may pass. */
export const retryable = (
  reason: Retryable['reason'],
  more: Omit<Retryable, '_tag' | 'reason'> = {},
): Retryable => ({ _tag: 'Retryable', reason, ...more })

/** The failure of a delivery to a closed sink, which is asked again in a minute. Nothing was started. */
export const sinkClosed = (name: string, now: number): Retryable =>
  retryable('closed', { notBefore: now + 60_000, detail: `the sink ${name} was closed` })

/** The failures of all sinks of a `firstSuccess` or `failover`. */
export const allFailed = (causes: ReadonlyArray<Cause>): AllFailed => ({ _tag: 'AllFailed', causes })

/** The verdicts of all sinks of a `toAll`. */
export const notAll = (verdicts: ReadonlyArray<SinkVerdict>): NotAll => ({ _tag: 'NotAll', verdicts })

/** The verdicts of a batch's members. */
export const partlyFailed = (members: ReadonlyArray<Either<Failure, Receipt>>): PartlyFailed => {
  return { _tag: 'PartlyFailed', members }
}

export const expired = (
  attempts: number,
  firstAttemptAt: number,
  lastFailure: Failure,
  because: 'deadline' | 'attempts',
): ExpiredFailure => ({ _tag: 'Expired', attempts, firstAttemptAt, lastFailure, because })

/** The verdicts inside a failure: of several sinks, or of a batch's members. None for a single failure. */
export const partsOf = (failure: Failure): ReadonlyArray<Verdict> => {
  switch (failure._tag) {
    case 'AllFailed':
      return failure.causes.map((cause) => left(cause.failure))
    case 'NotAll':
      return failure.verdicts.map(({ verdict }) => verdict)
    case 'PartlyFailed':
      return failure.members
    case 'Refused':
    case 'Retryable':
    case 'Expired':
      return []
  }
}

/** Failures of attempts that started no request: parts of them are what earlier attempts left. */
const unstarted = new WeakSet<Failure>()

/** Remembers that no request was started, unless `isStarted`. */
export const startedIf = <F extends AllFailed | NotAll | PartlyFailed>(isStarted: boolean, failure: F): F => {
  if (!isStarted) unstarted.add(failure)
  return failure
}

/** Whether it says what each sink of a combination answered. */
export const isOfSinks = ({ _tag }: Failure): boolean => _tag === 'AllFailed' || _tag === 'NotAll'

/** Whether the members of a batch have verdicts of their own in a failure. */
const hasMembers = (failure: Failure): boolean =>
  failure._tag === 'PartlyFailed' || partsOf(failure).some((part) => isLeft(part) && hasMembers(part.left))

/** For a list of verdicts of another length than its batch. */
export const lengthsOf = ({ members }: PartlyFailed, count: number): string =>
  `PartlyFailed has ${String(members.length)} members for ${String(count)} items`

/** The verdict on one of the `count` members of a batch: of several sinks each has one of its own on it. */
const memberVerdict = (given: Verdict, at: number, count: number): Verdict => {
  if (isRight(given)) return given
  const failure = given.left
  const onMember = (verdict: Verdict): Verdict => memberVerdict(verdict, at, count)
  const isStarted = !unstarted.has(failure)
  switch (failure._tag) {
    case 'PartlyFailed': {
      const member = failure.members.length === count ? failure.members[at] : undefined
      return member ?? left(retryable('defect', { detail: lengthsOf(failure, count) }))
    }
    case 'AllFailed': {
      const all = failure.causes.map((cause) => onMember(left(cause.failure)))
      const causes = lefts(all).map((own, n) => ({ sink: failure.causes[n]?.sink ?? '', failure: own }))
      return all.find(isRight) ?? left(startedIf(isStarted, allFailed(causes)))
    }
    case 'NotAll': {
      const all = failure.verdicts.map(({ sink, verdict }) => ({ sink, verdict: onMember(verdict) }))
      const isTaken = all.every(({ verdict }) => isRight(verdict))
      if (isTaken) return right({ sink: all.map(({ sink }) => sink).join(' & ') })
      return left(startedIf(isStarted, notAll(all)))
    }
    case 'Refused':
    case 'Retryable':
    case 'Expired':
      return given
  }
}

/** The verdict on each of the `count` members of a batch; undefined if they share that of the batch. */
export const memberVerdicts = (failure: Failure, count: number): ReadonlyArray<Verdict> | undefined =>
  hasMembers(failure)
    ? Array.from({ length: count }, (_, at) => memberVerdict(left(failure), at, count))
    : undefined

/** Whether another attempt could succeed: some part of the failure is retryable. */
export const isRetryable = (failure: Failure): boolean =>
  failure._tag === 'Retryable' || partsOf(failure).some((part) => !isFinal(part))

/**
 * When some part of the failure may be tried again; 0 for at any time, undefined if no part is retryable.
 * `Retry-After` holds back one URL only, so the earliest counts. A NaN from a host's sink counts as 0.
 */
export const earliestRetry = (failure: Failure): number | undefined => {
  if (failure._tag === 'Retryable') return Number.isNaN(failure.notBefore) ? 0 : (failure.notBefore ?? 0)
  const moments = partsOf(failure).flatMap((part) => (isLeft(part) ? (earliestRetry(part.left) ?? []) : []))
  return moments.length === 0 ? undefined : Math.min(...moments)
}

/** Whether trying again would change nothing. */
export const isFinal = (verdict: Verdict): boolean => isRight(verdict) || !isRetryable(verdict.left)

/** Whether an attempt settled a part: a sink took or refused the item, or a member of the batch ended. */
const hasSettled = (failure: Failure): boolean =>
  partsOf(failure).some((part) => isFinal(part) || (isLeft(part) && hasSettled(part.left)))

/**
 * A failure of the whole after attempts that settled parts: those stay settled, also when a later attempt did
 * not reach them (held back, no free connection, out of time). All other failures stay as they are.
 */
export const carried = (lastFailure: Failure | undefined, failure: Failure): Failure => {
  const isOfWhole = failure._tag === 'Refused' || failure._tag === 'Retryable'
  if (lastFailure === undefined || !isOfWhole || !hasSettled(lastFailure)) return failure
  const openIn = (cause: Failure): Failure => (isRetryable(cause) ? carried(cause, failure) : cause)
  const open = (part: Verdict): Verdict => (isRight(part) ? part : left(openIn(part.left)))
  switch (lastFailure._tag) {
    case 'PartlyFailed':
      return partlyFailed(lastFailure.members.map(open))
    case 'NotAll':
      return notAll(lastFailure.verdicts.map(({ sink, verdict }) => ({ sink, verdict: open(verdict) })))
    case 'AllFailed':
      return allFailed(lastFailure.causes.map((each) => ({ ...each, failure: openIn(each.failure) })))
    default:
      return failure
  }
}

/** Reasons that say that no request was started. */
const NOT_STARTED: ReadonlySet<string> = new Set<RetryableReason>(['queueFull', 'late', 'held', 'closed'])

/** Whether the failed attempt started a request. */
export const wasStarted = (failure: Failure): boolean => {
  if (failure._tag === 'Retryable') return !NOT_STARTED.has(failure.reason)
  if (failure._tag === 'Refused' || failure._tag === 'Expired') return true
  if (unstarted.has(failure)) return false
  return partsOf(failure).some((part) => isRight(part) || wasStarted(part.left))
}

export const closedIn = (failure: Failure): ReadonlyArray<string> =>
  failure._tag === 'Retryable' && failure.reason === 'closed'
    ? [failure.detail ?? 'a sink was closed']
    : partsOf(failure).flatMap((part) => (isLeft(part) ? closedIn(part.left) : []))

/** Stands before the message of a host's error, which may quote the item, so it is no part of a line. */
export const MESSAGE = ', with the message: '

/** One line: `https://a.example: status 503; https://b.example: certificate, self-signed`. */
export const show = (failure: Failure): string => {
  switch (failure._tag) {
    case 'Refused':
    case 'Retryable': {
      const { reason, status, detail } = failure
      const head = status === undefined ? reason : `${reason} ${String(status)}`
      const [shown] = detail?.split(MESSAGE, 1) ?? []
      return shown === undefined ? head : `${head}, ${shown}`
    }
    case 'AllFailed':
      return failure.causes.map((cause) => `${cause.sink}: ${show(cause.failure)}`).join('; ')
    case 'NotAll':
      return failure.verdicts
        .map(({ sink, verdict }) => `${sink}: ${isRight(verdict) ? 'delivered' : show(verdict.left)}`)
        .join('; ')
    case 'PartlyFailed': {
      const failed = failure.members.flatMap((member) => (member._tag === 'Left' ? [show(member.left)] : []))
      const count = `${String(failed.length)} of ${String(failure.members.length)}`
      return `${count} failed: ${[...new Set(failed)].join('; ')}`
    }
    case 'Expired': {
      const { because = '', attempts, lastFailure } = failure
      const why = { deadline: 'at its deadline, after', attempts: 'after all its', '': 'after' }[because]
      return `expired ${why} ${String(attempts)} attempts, last: ${show(lastFailure)}`
    }
  }
}

/** How one delivery went. */
export type Verdict = Either<Failure, Receipt>

const hasParts = (parts: unknown, isPart: (part: unknown) => boolean): boolean =>
  // A copy has no holes, which `every` skips.
  Array.isArray(parts) && parts.length > 0 && [...(parts as unknown[])].every(isPart)

const looksLikeFailure = (value: unknown): boolean => {
  if (!isRecord(value)) return false
  switch (value['_tag']) {
    case 'Refused':
      return true
    case 'Retryable':
      return ['undefined', 'number'].includes(typeof value['notBefore'])
    case 'AllFailed':
      return hasParts(value['causes'], (cause) => isRecord(cause) && looksLikeFailure(cause['failure']))
    case 'NotAll':
      return hasParts(value['verdicts'], (each) => isRecord(each) && isVerdict(each['verdict']))
    case 'PartlyFailed':
      return hasParts(value['members'], isVerdict)
    case 'Expired':
      return looksLikeFailure(value['lastFailure'])
    default:
      return false
  }
}

/** Whether a value of a host's code is a complete verdict. One that throws when it is read is none. */
export const isVerdict = (value: unknown): value is Verdict =>
  valueOr(false, () => {
    if (!isRecord(value)) return false
    if (value['_tag'] === 'Left') return looksLikeFailure(value['left'])
    const receipt = value['_tag'] === 'Right' && value['right']
    return isRecord(receipt) && typeof receipt['sink'] === 'string'
  })

/** Whether a value of a host's code is a failure. */
export const isFailure = (value: unknown): value is Failure => isVerdict(left(value))

/** Characters of a message: it is stored with the item. */
const MAX_MESSAGE = 300

/** Whether it is an error, also of another realm: under Jest the errors of Node are no `Error` of a test. */
export const isError = (error: unknown): error is Error =>
  error instanceof Error || /^\[object (Error|DOMException)\]$/.test(Object.prototype.toString.call(error))

/** The name of an error, or the type of another value. Neither quotes an item. */
export const nameOf = (error: unknown): string =>
  valueOr('Error', () => (isError(error) ? error.name : typeof error))

const errorText = (error: unknown): unknown => {
  if (!isError(error)) return String(error)
  const own = error.message === '' ? error.name : error.message
  return isError(error.cause) && error.cause.message !== '' ? `${own}: ${error.cause.message}` : own
}

/** The message of an error and of its cause, in one short text (`fetch failed` alone says nothing). */
export const messageOf = (error: unknown): string => {
  const text = valueOr('an error that cannot be read', () => String(errorText(error)))
  return text.length > MAX_MESSAGE ? `${flat(text.slice(0, MAX_MESSAGE))}…` : text
}

/** The code of a system error, or of an object in its place; empty if it has none. */
export const codeOf = (error: unknown): string =>
  valueOr('', () => (isRecord(error) && typeof error['code'] === 'string' ? error['code'] : ''))
