import { left } from 'fp-ts/lib/Either.js'
import { type Clock, steady, systemClock } from '../clock/Clock.ts'
import type { BatchPayload } from '../event/Payload.ts'
import { messageOf } from '../internal/messageOf.ts'
import { retryable } from '../outcome/Failure.ts'
import type { Verdict } from '../outcome/Verdict.ts'
import { fromRun, nothingToCancel, type Receiver, type Run, runOf } from '../sink/Run.ts'
import type { Attempt, Sink } from '../sink/Sink.ts'
import type { Division, Part } from './Division.ts'
import { divisionOf, isWhole, payloadOf, priorOf, stopLate, take, verdictOf } from './Division.ts'

/** When a batch is divided. */
export interface BisectingOptions {
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
  const prior = priorOf(division, part)
  return prior === attempt.prior ? attempt : { ...attempt, prior }
}

/**
 * Finds the bad members of a batch, so that one bad message costs one message and not its neighbours (CL4).
 *
 * The batch goes out as it is. If it is refused with a status of `only`, its two halves go out, one after the other and in their order,
 * and so on until a culprit stands alone: for one culprit in n at most 1 + 2·⌈log₂ n⌉ requests, for n of them 2n − 1. Halves keep the
 * envelope and the signer of the batch and share its deadline: none starts at or after `attempt.until`. When a part fails in
 * a way that may pass, those behind it are not tried in this attempt, and their members fail as it did.
 *
 * The verdict is a success if every member was taken, the failure itself if it is the same for all, else a `SomeOf` with one verdict
 * for each member, by position. As `attempt.prior` that is the memory: a member that was taken, or refused for good, is not
 * sent again; the others go out together.
 *
 * A sink inside that errors counts as `Retryable('defect')` for that part, and the defect is passed on after the verdict.
 *
 * @example
 * import { bisecting, sink } from 'headrace'
 * import type { BatchPayload } from 'headrace'
 *
 * const patient = bisecting()(sink('bulk', async (batch: BatchPayload<unknown>) => batch.members.length))
 * console.log(patient.name) // => bulk
 */
export const bisecting = (
  options: BisectingOptions = {},
): (<A>(sink: Sink<BatchPayload<A>>) => Sink<BatchPayload<A>>) => {
  const only = new Set(options.only ?? [400, 413])
  const now = steady(options.clock ?? systemClock)
  const halves = (status: number): boolean => only.has(status)

  return <A>(sink: Sink<BatchPayload<A>>) => {
    const runInner = runOf(sink)

    const run: Run<BatchPayload<A>> = (batch, attempt, receiver) => {
      const division = divisionOf(batch, attempt.prior)
      /** Who is told; undefined when the delivery is over or cancelled. */
      let to: Receiver | undefined = receiver
      let told = false
      let defect: { readonly error: unknown } | undefined
      let cancelInner = nothingToCancel
      let running = false
      let pumping = false

      const tell = (): void => {
        if (told || division.waiting.length > 0) return
        told = true
        to?.next(verdictOf(division))
      }

      const finish = (): void => {
        tell()
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
          tell()
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
