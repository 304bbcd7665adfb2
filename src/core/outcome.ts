/**
 * How an accepted item ended. Every accepted item ends as exactly one outcome, or is still waiting:
 * accepted = delivered + rejected + expired + dropped + abandoned + waiting.
 *
 * @module
 */

import type { Observable } from 'rxjs'
import type { Either, Left, Right } from './either.ts'
import { ignoreRejection, isPromiseLike } from './awaitable.ts'
import { isRecord, kindOf } from './json.ts'
import type { ExpiredFailure, Failure, Receipt } from './failure.ts'
import { UnfitAnswer } from './refusal.ts'

/** The answer of a destination or a client for an accepted call. */
export interface Accepted {
  /** The message id: the one of the call, or a new one. */
  readonly id: string
}

/** Of each outcome. @inline */
interface EndedItem<out A> {
  readonly item: A
  readonly attempts: number
}

/** A sink accepted it. */
export interface Delivered<out A> extends EndedItem<A> {
  readonly _tag: 'Delivered'
  readonly receipt: Receipt
}

/** A final refusal: trying again would change nothing. */
export interface Rejected<out A> extends EndedItem<A> {
  readonly _tag: 'Rejected'
  readonly failure: Failure
}

/** The retry policy gave up: its deadline came, or its last allowed attempt failed. */
export interface Expired<out A> extends EndedItem<A> {
  readonly _tag: 'Expired'
  readonly failure: ExpiredFailure
}

/** An overflow policy dropped it to make room. */
export interface Dropped<out A> extends EndedItem<A> {
  readonly _tag: 'Dropped'
  readonly reason: 'dropNewest' | 'dropOldest'
}

/** Handed back, undelivered, by a close or a stop. */
export interface Abandoned<out A> extends EndedItem<A> {
  readonly _tag: 'Abandoned'
  /** How its last attempt failed, if it had one. */
  readonly lastFailure: Failure | undefined
}

/** How an accepted item ended. */
export type Outcome<A> = Delivered<A> | Rejected<A> | Expired<A> | Dropped<A> | Abandoned<A>

export const delivered = <A>(item: A, attempts: number, receipt: Receipt): Delivered<A> => {
  return { _tag: 'Delivered', item, attempts, receipt }
}
export const rejected = <A>(item: A, attempts: number, failure: Failure): Rejected<A> => {
  return { _tag: 'Rejected', item, attempts, failure }
}
export const expired = <A>(item: A, failure: ExpiredFailure): Expired<A> => {
  return { _tag: 'Expired', item, attempts: failure.attempts, failure }
}
export const dropped = <A>(item: A, attempts: number, reason: Dropped<A>['reason']): Dropped<A> => {
  return { _tag: 'Dropped', item, attempts, reason }
}
export const abandoned = <A>(item: A, attempts: number, lastFailure: Failure | undefined): Abandoned<A> => {
  return { _tag: 'Abandoned', item, attempts, lastFailure }
}

/** Left out by `filterRight`, or without parts in `splitRight`: never accepted, so it is no outcome. */
export interface Skipped<out A> {
  readonly _tag: 'Skipped'
  readonly item: A
}

export const skipped = <A>(item: A): Skipped<A> => ({ _tag: 'Skipped', item })

const OUTCOMES: ReadonlyArray<unknown> = ['Delivered', 'Rejected', 'Expired', 'Dropped', 'Abandoned']

/** Whether a value at the end of a pipeline is the outcome of an accepted item. */
export const isOutcome = (value: unknown): value is Outcome<unknown> =>
  isRecord(value) && OUTCOMES.includes(value['_tag'])

/** Whether the item becomes a dead letter. */
export const isDead = <A>(outcome: Outcome<A>): outcome is Rejected<A> | Expired<A> =>
  outcome._tag === 'Rejected' || outcome._tag === 'Expired'

/** The failed attempts of an item, stored with it. */
export interface Progress {
  /** Attempts that have failed, 1 or more. */
  readonly attempts: number
  /** How the last one failed. */
  readonly lastFailure: Failure
}

/**
 * The counts of a process, at every moment: accepted = delivered + rejected + expired + dropped + abandoned +
 * waiting.
 */
export interface Totals {
  readonly accepted: number
  readonly delivered: number
  readonly rejected: number
  readonly expired: number
  readonly dropped: number
  readonly abandoned: number
  /** Accepted and not ended. */
  readonly waiting: number
}

const NONE = { accepted: 0, delivered: 0, rejected: 0, expired: 0, dropped: 0, abandoned: 0, waiting: 0 }

/** The totals of several together. */
export const sumOf = (all: ReadonlyArray<Totals>): Totals => {
  const sum = { ...NONE }
  // The keys are those of the record.
  for (const key of Object.keys(NONE) as ReadonlyArray<keyof Totals>)
    for (const each of all) sum[key] += each[key]
  return sum
}

const SLOTS = {
  Delivered: 'delivered',
  Rejected: 'rejected',
  Expired: 'expired',
  Dropped: 'dropped',
  Abandoned: 'abandoned',
} as const

/** Counts accepted items and their outcomes; `stored` items of an opened outbox count as accepted. */
export const counters = (stored = 0) => {
  const counts = { accepted: stored, delivered: 0, rejected: 0, expired: 0, dropped: 0, abandoned: 0 }
  const waiting = (): number => {
    const { accepted, delivered, rejected, expired, dropped, abandoned } = counts
    return accepted - delivered - rejected - expired - dropped - abandoned
  }
  return {
    accept: (count = 1): number => (counts.accepted += count),
    end: ({ _tag }: Outcome<unknown>): number => counts[SLOTS[_tag]]++,
    /** A stored item that cannot be read counts as rejected. It has no outcome. */
    endCorrupt: (): number => counts.rejected++,
    waiting,
    totals: (): Totals => ({ ...counts, waiting: waiting() }),
  }
}

export const isEither = (value: unknown): value is Either<unknown, unknown> =>
  isRecord(value) && (value['_tag'] === 'Left' || value['_tag'] === 'Right')

/** Throws a TypeError for a value that is no Either: code without types may put such into a stream. */
export const assertEither = (operator: string, each: unknown): void => {
  if (isEither(each)) return
  throw new TypeError(`${operator}: expected an Either, got ${kindOf(each)}: put validate() or lift() first`)
}

/** A promise would go on as the item: nothing waits for it. */
export const notPromise = <B>(answer: B): B => {
  ignoreRejection(answer)
  if (isPromiseLike(answer)) throw new UnfitAnswer('answered a promise: use enrich, which waits for it')
  return answer
}

/** An Either would go on as the item, also if it is a left. */
export const notEither = <B>(answer: B): B => {
  if (isEither(answer)) throw new UnfitAnswer('answered an Either: use flatMapRight')
  return answer
}

/** A stream whose left side is ended items. Operators work on the right side and pass the left. */
export type ObservableEither<L, A> = Observable<Either<L, A>>

/** An `Either` of `validate` or `lift`. The compiler shows the name for a stream without one. @inline */
export type ValidatedOrLifted<L, A> = Left<L> | Right<A>

/** The stream that an operator takes. */
export type EitherSource<L, A> = Observable<ValidatedOrLifted<L, A>>

declare const hint: unique symbol

/** No value has this type: the compiler shows it if the operator before an operator is missing. */
export interface Hint<out M extends string> {
  readonly [hint]: M
}
