/**
 * How a batch is divided until a culprit stands alone: decisions only, over the positions of its members. `bisecting` obeys them.
 *
 * @module
 */
import { left } from 'fp-ts/lib/Either.js'
import type { BatchPayload } from '../event/Payload.ts'
import type { Failure, Retryable, SomeOf } from '../outcome/Failure.ts'
import { isFinal, isRetryable, retryable, someOf, wasStarted } from '../outcome/Failure.ts'
import type { Verdict } from '../outcome/Verdict.ts'

/** Members that go out together: those at `open[from]` up to, but not including, `open[to]`. */
export interface Part {
  readonly from: number
  readonly to: number
}

/** A batch on its way. It is its maker's own, so it is changed in place. */
export interface Division<A> {
  readonly batch: BatchPayload<A>
  readonly prior: Failure | undefined
  /** The positions of the members that earlier attempts left open, in order. */
  readonly open: ReadonlyArray<number>
  /** One for each member, by position. What nobody has answered yet is late: that is what becomes of it if nothing starts any more. */
  readonly answers: Verdict[]
  /** Parts that are still to be sent, the next one last. */
  readonly waiting: Part[]
  /** The status for which a part was halved in this attempt. */
  halvedBy: number | undefined
  /** The verdict of the whole batch, sent in one piece. */
  whole: Verdict | undefined
}

const TOO_LATE = retryable('late', { detail: 'the deadline came before the request could start' })
const LATE: Verdict = left(TOO_LATE)

const memoryOf = (prior: Failure | undefined, count: number): SomeOf | undefined =>
  prior?._tag === 'SomeOf' && prior.members.length === count ? prior : undefined

/** A batch before its first request in this attempt. A `prior` that is no `SomeOf` of its members says nothing about any of them. */
export const divisionOf = <A>(batch: BatchPayload<A>, prior: Failure | undefined): Division<A> => {
  const count = batch.members.length
  const memory = memoryOf(prior, count)
  const answers: Verdict[] = []
  const open: number[] = []
  for (let at = 0; at < count; at++) {
    const known = memory?.members[at]
    if (known !== undefined && isFinal(known)) answers.push(known)
    else {
      answers.push(LATE)
      open.push(at)
    }
  }
  // An empty batch has nothing open, and is still somebody's request.
  const waiting = open.length > 0 || count === 0 ? [{ from: 0, to: open.length }] : []
  return { batch, prior: memory ?? prior, open, answers, waiting, halvedBy: undefined, whole: undefined }
}

/** Whether a part is the whole batch, as it is. */
export const isWhole = ({ batch }: Division<unknown>, { from, to }: Part): boolean =>
  to - from === batch.members.length

const COMMA = 1

/** What is sent for a part: the batch itself, or its members in their order, with the same envelope and signer. */
export const payloadOf = <A>(division: Division<A>, part: Part): BatchPayload<A> => {
  const { batch, open } = division
  if (isWhole(division, part)) return batch
  const members = open.slice(part.from, part.to).flatMap((at) => batch.members[at] ?? [])
  const sum = members.reduce((bytes, { byteLength }) => bytes + byteLength + COMMA, -COMMA)
  return {
    ...batch,
    items: members.map(({ items: [item] }) => item),
    members,
    byteLength: batch.frame.size + sum,
  }
}

const isSame = (one: Failure, other: Failure): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other)

/** How the last attempt failed for the members of a part: one failure if it is the same for all. */
export const priorOf = (
  { prior, open, batch }: Division<unknown>,
  { from, to }: Part,
): Failure | undefined => {
  if (prior?._tag !== 'SomeOf' || prior.members.length !== batch.members.length) return prior
  const members = open.slice(from, to).flatMap((at) => prior.members[at] ?? [])
  const [first] = members
  if (first?._tag !== 'Left') return undefined
  return members.every((each) => each._tag === 'Left' && isSame(each.left, first.left))
    ? first.left
    : someOf(members)
}

/** The part of a failure that may pass. */
const passing = (failure: Failure): Failure => {
  if (failure._tag !== 'SomeOf') return failure
  const found = failure.members.find((member) => !isFinal(member))
  return found?._tag === 'Left' ? passing(found.left) : failure
}

/**
 * The failure of members that were refused in company and not sent again: something was started for them, whatever kept their
 * part from being sent, and their four hours run from there (DE4).
 */
const unsent = (failure: Failure, halvedBy: number | undefined): Failure => {
  if (halvedBy === undefined || wasStarted(failure)) return failure
  const wish: Partial<Retryable> = failure._tag === 'Retryable' ? failure : {}
  return retryable('halved', {
    status: halvedBy,
    ...(wish.notBefore === undefined ? {} : { notBefore: wish.notBefore }),
    detail: 'it was refused with its batch, and its part of it was not sent',
  })
}

const answer = (
  { open, answers }: Division<unknown>,
  { from, to }: Part,
  by: (at: number) => Verdict,
): void => {
  for (let each = from; each < to; each++) {
    const at = open[each]
    if (at !== undefined) answers[at] = by(each - from)
  }
}

/** Gives up on what has not been sent. */
export const stop = (division: Division<unknown>, failure: Failure): void => {
  const verdict: Verdict = left(unsent(failure, division.halvedBy))
  for (const part of division.waiting.splice(0)) answer(division, part, () => verdict)
}

/** Gives up on what has not been sent because the deadline came. */
export const stopLate = (division: Division<unknown>): void => {
  if (division.halvedBy === undefined) division.waiting.length = 0
  else stop(division, TOO_LATE)
}

const halved = ({ waiting }: Division<unknown>, { from, to }: Part): void => {
  const middle = from + Math.ceil((to - from) / 2)
  waiting.push({ from: middle, to }, { from, to: middle })
}

/**
 * Takes in the verdict of a part. One that was refused with a status that says so is halved, if it can be; a failure that may
 * pass ends the attempt for the parts behind it too, for their order, and because the receiver is ill.
 */
export const take = (
  division: Division<unknown>,
  part: Part,
  verdict: Verdict,
  halves: (status: number) => boolean,
): void => {
  const failure = verdict._tag === 'Left' ? verdict.left : undefined
  const size = part.to - part.from
  if (failure?._tag === 'Refused' && failure.status !== undefined && size > 1 && halves(failure.status)) {
    division.halvedBy = failure.status
    halved(division, part)
    return
  }
  if (isWhole(division, part)) division.whole = verdict
  else if (failure?._tag === 'SomeOf' && failure.members.length === size) {
    answer(division, part, (at) => failure.members[at] ?? verdict)
  } else {
    const each: Verdict = failure === undefined ? verdict : left(unsent(failure, division.halvedBy))
    answer(division, part, () => each)
  }
  if (failure !== undefined && isRetryable(failure)) stop(division, passing(failure))
}

/**
 * The verdict of the batch: its own if it was sent in one piece, a success if all members were taken, the failure if it is one and the
 * same for all, else one verdict for each member, by position.
 */
export const verdictOf = ({ answers, whole }: Division<unknown>): Verdict => {
  if (whole !== undefined) return whole
  const [first = LATE] = answers
  const failure = first._tag === 'Left' ? first.left : undefined
  const isOne = answers.every((each) =>
    each._tag === 'Left' ? each.left === failure : failure === undefined,
  )
  return isOne ? first : left(someOf(answers))
}
