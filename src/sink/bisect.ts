import { left } from '../core/either.ts'
import { steady } from '../core/clock.ts'
import { drainLoop } from '../core/drainLoop.ts'
import { isFinal, isRetryable, partlyFailed, retryable, startedIf, wasStarted } from '../core/failure.ts'
import type { Failure, Verdict } from '../core/failure.ts'
import { checkOptions, list, strict, wholeNumber, withDefault } from '../core/options.ts'
import { frameBytes, type BatchPayload } from '../event/payload.ts'
import { thrown } from '../log/logEvent.ts'
import { makeLayer, nothingToCancel } from './layer.ts'
import type { Attempt, Sink } from './sink.ts'

/** Options of `withBisection`. */
export interface BisectionOptions {
  /** The statuses of a refusal for which a batch is divided. Default 400, 413 and 422; `[]` for none. */
  readonly only?: ReadonlyArray<number>
}

const bisectionOptions = strict({
  only: withDefault(list('statuses', 0, Infinity, wholeNumber('', 100, 599)), [400, 413, 422]),
})

const TOO_LATE = retryable('late', { detail: 'the deadline came before the request could start' })
const LATE_PART: Verdict = left(TOO_LATE)
const COMMA_BYTES = 1

/** The verdicts of a batch of `count` members. */
export const verdictsIn = (failure: Failure | undefined, count: number) =>
  failure?._tag === 'PartlyFailed' && failure.members.length === count ? failure.members : undefined

/** The payload of some members: the batch itself for all of them, else those in their order. */
const payloadOf = <A>(batch: BatchPayload<A>, positions: ReadonlyArray<number>): BatchPayload<A> => {
  if (positions.length === batch.members.length) return batch
  const members = positions.flatMap((at) => batch.members[at] ?? [])
  const sum = members.reduce((bytes, { byteLength }) => bytes + byteLength + COMMA_BYTES, -COMMA_BYTES)
  return {
    ...batch,
    items: members.map(({ items: [item] }) => item),
    members,
    byteLength: frameBytes(batch.frame) + sum,
  }
}

const isSame = (one: Failure, other: Failure): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other)

/** The attempt for some members, with their own last failure: a single one if they all share it. */
const attemptFor = (attempt: Attempt, count: number, positions: ReadonlyArray<number>): Attempt => {
  const all = verdictsIn(attempt.lastFailure, count)
  if (all === undefined) return attempt
  const members = positions.flatMap((at) => all[at] ?? [])
  const [first] = members
  if (first?._tag !== 'Left') return { ...attempt, lastFailure: undefined }
  const isOne = members.every((each) => each._tag === 'Left' && isSame(each.left, first.left))
  return { ...attempt, lastFailure: isOne ? first.left : partlyFailed(members) }
}

const retryablePart = (failure: Failure): Failure => {
  if (failure._tag !== 'PartlyFailed') return failure
  const found = failure.members.find((member) => !isFinal(member))
  return found?._tag === 'Left' ? retryablePart(found.left) : failure
}

/**
 * The failure of members that were refused together with others, with `status`, and not sent again. A request
 * was started for them, so the failure must not say that nothing was started: their four hours run from
 * there.
 */
const afterRefusal = (failure: Failure, status: number): Failure => {
  if (wasStarted(failure)) return failure
  const notBefore = failure._tag === 'Retryable' ? failure.notBefore : undefined
  return retryable('halved', {
    status,
    ...(notBefore === undefined ? {} : { notBefore }),
    detail: 'it was refused with its batch, and its part of it was not sent',
  })
}

/**
 * Finds the bad members of a batch, so that one bad message costs one message and not its neighbours.
 *
 * The batch is sent as it is. If it is refused with a status of `only`, its two halves are sent, one after
 * the other and in their order, and so on until a bad member is alone: for one bad member of n at most 1 +
 * 2·⌈log₂ n⌉ requests, for n of them 2n − 1. Halves have the frame of the batch and share its deadline: none
 * starts at or after `attempt.until`. When a part fails in a way that may pass, those behind it are not sent
 * in this attempt, and their members fail as it did. A signed batch is not divided: its halves would not be.
 *
 * The verdict is a success if every member was taken, the failure itself if it is the same for all, else a
 * `PartlyFailed` with one verdict for each member, by position. Given back as `attempt.lastFailure`, it says
 * which members to send: one that was taken, or refused for good, is not sent again; the others are sent
 * together.
 *
 * A sink inside that errors counts as `Retryable('defect')` for that part, and the defect is passed on after
 * the verdict.
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
  const { only } = checkOptions('options of withBisection', bisectionOptions, options)

  return <A>(sink: Sink<BatchPayload<A>>) =>
    makeLayer<BatchPayload<A>>(sink, (subscribe, clock) => (batch, attempt, observer) => {
      const count = batch.members.length
      const known = verdictsIn(attempt.lastFailure, count)
      /** One for each member, by position. */
      const verdicts: Verdict[] = []
      const open: number[] = []
      // A loop: `map` and `flatMap` took 4 % of a client.
      for (let at = 0; at < count; at++) {
        const before = known?.[at]
        const isOver = before !== undefined && isFinal(before)
        verdicts.push(isOver ? before : LATE_PART)
        if (!isOver) open.push(at)
      }
      /** Positions that are still to be sent, the next part last. An empty batch is sent too. */
      const parts = open.length > 0 || count === 0 ? [open] : []
      /** The status for which a part was divided in this attempt. */
      let dividedBy: number | undefined
      /** The verdict of the whole batch, sent in one piece. */
      let whole: Verdict | undefined
      let defect: { readonly error: unknown } | undefined
      let cancelInner = nothingToCancel
      let isStarted = false
      let running = false
      let over = false

      const setAll = (positions: ReadonlyArray<number>, verdict: Verdict): void => {
        for (const at of positions) verdicts[at] = verdict
      }

      const failed = (failure: Failure): Verdict =>
        left(dividedBy === undefined ? failure : afterRefusal(failure, dividedBy))

      const failRest = (failure: Failure): void => {
        for (const part of parts.splice(0)) setAll(part, failed(failure))
      }

      const settle = (part: ReadonlyArray<number>, verdict: Verdict): void => {
        const failure = verdict._tag === 'Left' ? verdict.left : undefined
        isStarted ||= failure === undefined || wasStarted(failure)
        const { status } = failure?._tag === 'Refused' ? failure : {}
        const mayDivide = part.length > 1 && batch.signature === undefined
        if (status !== undefined && mayDivide && only.includes(status)) {
          const middle = Math.ceil(part.length / 2)
          parts.push(part.slice(middle), part.slice(0, middle))
          dividedBy = status
          return
        }
        const members = verdictsIn(failure, part.length)
        if (part.length === count) whole = verdict
        else if (members === undefined) setAll(part, failure === undefined ? verdict : failed(failure))
        else
          for (const [place, at] of part.entries()) {
            const own = members[place] ?? verdict
            verdicts[at] = own._tag === 'Left' ? failed(own.left) : own
          }
        if (failure !== undefined && isRetryable(failure)) failRest(retryablePart(failure))
      }

      const verdictOf = (): Verdict => {
        if (whole !== undefined) return whole
        const [first = LATE_PART] = verdicts
        const isOne = verdicts.every((each) =>
          each._tag === 'Left' && first._tag === 'Left' ? each.left === first.left : each._tag === first._tag,
        )
        return isOne ? first : left(startedIf(isStarted, partlyFailed(verdicts)))
      }

      const emitIfKnown = (): void => {
        if (parts.length === 0 && !over) observer.next(verdictOf())
      }

      const finish = (): void => {
        emitIfKnown()
        over = true
        if (defect === undefined) observer.complete()
        else observer.error(defect.error)
      }

      const send = (part: ReadonlyArray<number>): void => {
        let isAnswered = false
        const end = (): void => {
          running = false
          sendParts()
        }
        running = true
        const cancel = subscribe(payloadOf(batch, part), attemptFor(attempt, count, part), {
          next: (verdict) => {
            isAnswered = true
            settle(part, verdict)
            emitIfKnown()
          },
          complete: end,
          error: (error) => {
            defect ??= { error }
            if (!isAnswered && part.length === count) {
              // Nothing is known of any member, so there is no verdict.
              over = true
              observer.error(error)
              return
            }
            if (!isAnswered) settle(part, left(thrown('defect', error)))
            end()
          },
        })
        // It may have been cancelled before its cancel was here.
        if (over) cancel()
        else cancelInner = cancel
      }

      const sendParts = drainLoop(() => {
        while (!running && !over) {
          if (parts.length > 0 && steady(clock)() >= attempt.until) failRest(TOO_LATE)
          const part = parts.pop()
          if (part === undefined) finish()
          else send(part)
        }
      })

      sendParts()
      return () => {
        over = true
        cancelInner()
      }
    })
}
