/**
 * How a batch is divided until a culprit stands alone: decisions only, over the positions of its members. `withBisection` obeys them.
 *
 * @module
 */

import { left } from 'fp-ts/lib/Either.js'
import { messageOf } from '../core/awaitable.ts'
import { steady, systemClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import { isFinal, isRetryable, retryable, partlyFailed, wasStarted } from '../core/failure.ts'
import type { Failure, Retryable, PartlyFailed, Verdict } from '../core/failure.ts'
import { frameBytes } from '../event/payload.ts'
import type { BatchPayload } from '../event/payload.ts'
import { fromRun, nothingToCancel, runOf } from './layer.ts'
import type { Receiver, Run } from './layer.ts'
import type { Attempt, Sink } from './sink.ts'

/** Members that go out together: those at `open[from]` up to, but not including, `open[to]`. */
export interface Part {
  readonly from: number
  readonly to: number
}

/** A batch on its way. It is its maker's own, so it is changed in place. */
export interface Division<A> {
  readonly batch: BatchPayload<A>
  readonly lastFailure: Failure | undefined
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

const memoryOf = (lastFailure: Failure | undefined, count: number): PartlyFailed | undefined =>
  lastFailure?._tag === 'PartlyFailed' && lastFailure.members.length === count ? lastFailure : undefined

/** A batch before its first request in this attempt. A `prior` that is no `PartlyFailed` of its members says nothing about any of them. */
export const divisionOf = <A>(batch: BatchPayload<A>, lastFailure: Failure | undefined): Division<A> => {
  const count = batch.members.length
  const memory = memoryOf(lastFailure, count)
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
  return {
    batch,
    lastFailure: memory ?? lastFailure,
    open,
    answers,
    waiting,
    halvedBy: undefined,
    whole: undefined,
  }
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
    byteLength: frameBytes(batch.frame) + sum,
  }
}

const isSame = (one: Failure, other: Failure): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other)

/** How the last attempt failed for the members of a part: one failure if it is the same for all. */
export const priorOf = (
  { lastFailure, open, batch }: Division<unknown>,
  { from, to }: Part,
): Failure | undefined => {
  if (lastFailure?._tag !== 'PartlyFailed' || lastFailure.members.length !== batch.members.length)
    return lastFailure
  const members = open.slice(from, to).flatMap((at) => lastFailure.members[at] ?? [])
  const [first] = members
  if (first?._tag !== 'Left') return undefined
  return members.every((each) => each._tag === 'Left' && isSame(each.left, first.left))
    ? first.left
    : partlyFailed(members)
}

/** The part of a failure that may pass. */
const passing = (failure: Failure): Failure => {
  if (failure._tag !== 'PartlyFailed') return failure
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
  else if (failure?._tag === 'PartlyFailed' && failure.members.length === size) {
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
  return isOne ? first : left(partlyFailed(answers))
}

/** When a batch is divided. */
export interface BisectionOptions {
  /** The statuses of a refusal that may be the fault of one member, or of too many. Default 400 and 413; `[]` for none. */
  readonly only?: ReadonlyArray<number>
  readonly clock?: Clock
}

/** One request for a part. */
interface Request {
  answered: boolean
  over: boolean
}

const defectVerdict = (defect: unknown): Verdict => left(retryable('defect', { detail: messageOf(defect) }))

const attemptFor = (division: Division<unknown>, part: Part, attempt: Attempt): Attempt => {
  const lastFailure = priorOf(division, part)
  return lastFailure === attempt.lastFailure ? attempt : { ...attempt, lastFailure }
}

/**
 * Finds the bad members of a batch, so that one bad message costs one message and not its neighbours (CL4).
 *
 * The batch goes out as it is. If it is refused with a status of `only`, its two halves go out, one after the other and in their order,
 * and so on until a culprit stands alone: for one culprit in n at most 1 + 2·⌈log₂ n⌉ requests, for n of them 2n − 1. Halves keep the
 * envelope and the signer of the batch and share its deadline: none starts at or after `attempt.until`. When a part fails in
 * a way that may pass, those behind it are not tried in this attempt, and their members fail as it did.
 *
 * The verdict is a success if every member was taken, the failure itself if it is the same for all, else a `PartlyFailed` with one verdict
 * for each member, by position. As `attempt.prior` that is the memory: a member that was taken, or refused for good, is not
 * sent again; the others go out together.
 *
 * A sink inside that errors counts as `Retryable('defect')` for that part, and the defect is passed on after the verdict.
 *
 * @example
 * import { withBisection, sink } from 'headrace'
 * import type { BatchPayload } from 'headrace'
 *
 * const patient = withBisection()(sink('bulk', async (batch: BatchPayload<unknown>) => batch.members.length))
 * console.log(patient.name) // => bulk
 */
export const withBisection = (
  options: BisectionOptions = {},
): (<A>(sink: Sink<BatchPayload<A>>) => Sink<BatchPayload<A>>) => {
  const only = new Set(options.only ?? [400, 413])
  const now = steady(options.clock ?? systemClock)
  const halves = (status: number): boolean => only.has(status)

  return <A>(sink: Sink<BatchPayload<A>>) => {
    const runInner = runOf(sink)

    const run: Run<BatchPayload<A>> = (batch, attempt, receiver) => {
      const division = divisionOf(batch, attempt.lastFailure)
      /** Who is told; undefined when the delivery is over or cancelled. */
      let to: Receiver | undefined = receiver
      let told = false
      let defect: { readonly error: unknown } | undefined
      let cancelInner = nothingToCancel
      let running = false
      let pumping = false

      const onEvent = (): void => {
        if (told || division.waiting.length > 0) return
        told = true
        to?.next(verdictOf(division))
      }

      const finish = (): void => {
        onEvent()
        const last = to
        to = undefined
        if (defect === undefined) last?.complete()
        else last?.error(defect.error)
      }

      const start = (part: Part): void => {
        const request: Request = { answered: false, over: false }
        const settle = (verdict: Verdict): void => {
          if (to === undefined || request.answered) return
          request.answered = true
          take(division, part, verdict, halves)
          onEvent()
        }
        const rest = (): void => {
          if (request.over) return
          request.over = true
          running = false
          cancelInner = nothingToCancel
          pump()
        }
        running = true
        const cancel = runInner(payloadOf(division, part), attemptFor(division, part, attempt), {
          next: settle,
          complete: rest,
          error: (error) => {
            defect ??= { error }
            // A batch of which nothing is known has nothing that a verdict could save.
            if (!request.answered && isWhole(division, part)) told = true
            settle(defectVerdict(error))
            rest()
          },
        })
        if (request.over) return
        // It may have been cancelled before its cancel was here.
        if (to === undefined) cancel()
        else cancelInner = cancel
      }

      /** A loop, for a sink that answers on the spot would else go as deep as there are parts. */
      const pump = (): void => {
        if (pumping) return
        pumping = true
        while (!running && to !== undefined) {
          if (division.waiting.length > 0 && now() >= attempt.until) stopLate(division)
          const part = division.waiting.pop()
          if (part === undefined) finish()
          else start(part)
        }
        pumping = false
      }

      pump()
      return () => {
        to = undefined
        cancelInner()
      }
    }

    return fromRun(sink.name, run, sink.close)
  }
}
