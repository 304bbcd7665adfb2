import { left } from 'fp-ts/lib/Either.js'
import { messageOf } from '../core/awaitable.ts'
import { steady, systemClock } from '../core/clock.ts'
import type { Cancel, Clock } from '../core/clock.ts'
import { earliestRetry, allFailed, retryable } from '../core/failure.ts'
import type { Failure, Verdict } from '../core/failure.ts'
import { makeSink, subscribeTo } from './layer.ts'
import type { Attempt, SharedWork, Sink } from './sink.ts'

/** Options of `firstSuccess`. */
export interface FirstSuccessOptions {
  /** Default: the names of the sinks, joined by ` | `. */
  readonly name?: string
  readonly clock?: Clock
}

const checkedNames = <A>(sinks: ReadonlyArray<Sink<A>>): ReadonlyArray<string> => {
  if (sinks.length === 0) throw new RangeError('firstSuccess: at least one sink is needed')
  const names = sinks.map((sink) => sink.name)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) throw new Error(`firstSuccess: two sinks have the name ${twice}`)
  return names
}

/** How a sink failed in the last attempt. A failure that is no `AllFailed` says nothing about any sink. */
const lastFailureOf = (lastFailure: Failure | undefined, name: string): Failure | undefined =>
  lastFailure?._tag === 'AllFailed'
    ? lastFailure.causes.find((cause) => cause.sink === name)?.failure
    : undefined

/** Whether a sink that failed so is asked again at `now`: not if it refused for good or asked to wait longer. */
const mayAsk = (failure: Failure, now: number): boolean => {
  const from = earliestRetry(failure)
  return from !== undefined && from <= now
}

/** Whether a verdict is an `AllFailed` of the very failures among the answers. */
const isMadeOf = (verdict: Verdict | undefined, answers: ReadonlyArray<Verdict | undefined>): boolean =>
  verdict?._tag === 'Left' &&
  verdict.left._tag === 'AllFailed' &&
  verdict.left.causes.every(({ failure }, at) => {
    const answer = answers[at]
    return answer?._tag === 'Left' && answer.left === failure
  })

/** Closes all at the same time, and waits for all before it fails with what the first of them failed with. */
const closeAll = async <A>(sinks: ReadonlyArray<Sink<A>>, within: number): Promise<void> => {
  const results = await Promise.allSettled(sinks.map(async (sink) => sink.close(within)()))
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

/**
 * One sink made of several: delivered as soon as one of them has taken the item.
 *
 * A delivery asks all its sinks at the same time, except a sink that refused for good in the last attempt, or asked to wait longer
 * (`attempt.lastFailure` says so). The first success is the verdict, with the receipt of the sink that won. The others are not aborted:
 * they run to their end, and only then is the delivery complete. If none succeeds, the verdict is an `AllFailed` with the cause of every
 * sink in the order of the sinks; a sink that was not asked keeps its remembered cause. If none is asked, that verdict comes at once.
 *
 * A sink that errors counts as `Retryable('defect')`. One sink alone behaves as itself, only its failure is an `AllFailed` too, so
 * that what is remembered stays valid when a second one is added.
 *
 * @throws RangeError without any sink; Error if two sinks have the same name.
 *
 * @example
 * import { firstSuccess, sink } from 'headrace'
 *
 * const either = firstSuccess([
 *   sink('near', async (text: string) => text.length),
 *   sink('far', async (text: string) => text.length),
 * ])
 */
export const firstSuccess = <A>(
  sinks: ReadonlyArray<Sink<A>>,
  options: FirstSuccessOptions = {},
): Sink<A> => {
  const names = checkedNames(sinks)
  const now = steady(options.clock ?? systemClock)
  const children = sinks.map((sink) => ({ name: sink.name, subscribe: subscribeTo(sink) }))
  /** Told again if all fail as they did before: thousands of items that wait for the same failure share one verdict. */
  let lastFailed: Verdict | undefined

  const allFailedOf = (answers: ReadonlyArray<Verdict | undefined>): Verdict => {
    if (lastFailed === undefined || !isMadeOf(lastFailed, answers)) {
      const causes = answers.flatMap((answer, at) =>
        answer?._tag === 'Left' ? [{ sink: names[at] ?? '', failure: answer.left }] : [],
      )
      // A copy has no spare room: as many of these may be held as items wait.
      lastFailed = left(allFailed(causes.slice()))
    }
    return lastFailed
  }

  /** What a sink is given: its own last failure, and the work that several share. */
  const attemptFor = (name: string, attempt: Attempt, shared: SharedWork | undefined): Attempt => {
    if (attempt.lastFailure === undefined && attempt.shared === shared) return attempt
    const { number, until } = attempt
    const lastFailure = lastFailureOf(attempt.lastFailure, name)
    return shared === undefined ? { number, until, lastFailure } : { number, until, lastFailure, shared }
  }

  return makeSink<A>(
    options.name ?? names.join(' | '),
    (item, attempt, observer) => {
      const { lastFailure } = attempt
      const time = lastFailure === undefined ? 0 : now()
      // One place for each sink. A sink that is not asked answers with its remembered failure.
      const answers = names.map((name): Verdict | undefined => {
        const remembered = lastFailureOf(lastFailure, name)
        return remembered === undefined || mayAsk(remembered, time) ? undefined : left(remembered)
      })
      let unanswered = answers.filter((answer) => answer === undefined).length
      let running = unanswered
      const shared = attempt.shared ?? (running > 1 ? { wire: undefined } : undefined)
      let success: Verdict | undefined
      /** Nothing is emitted before all are started. */
      let started = false

      const proceed = (): void => {
        if (!started) return
        if (success !== undefined) observer.next(success)
        else if (unanswered === 0) observer.next(allFailedOf(answers))
        if (running === 0) observer.complete()
      }

      const answer = (at: number, verdict: Verdict): void => {
        unanswered--
        answers[at] = verdict
        if (verdict._tag === 'Right') success ??= verdict
      }

      const cancels = children.map(({ name, subscribe }, at): Cancel | undefined => {
        if (answers[at] !== undefined) return undefined
        return subscribe(item, attemptFor(name, attempt, shared), {
          next: (verdict) => {
            answer(at, verdict)
            proceed()
          },
          complete: () => {
            running--
            proceed()
          },
          error: (defect) => {
            if (answers[at] === undefined)
              answer(at, left(retryable('defect', { detail: messageOf(defect) })))
            running--
            proceed()
          },
        })
      })
      started = true
      proceed()

      return () => {
        for (const cancel of cancels) cancel?.()
      }
    },
    (within) => () => closeAll(sinks, within),
  )
}
