/**
 * How a first success decides: pure functions over the answers of its sinks.
 *
 * @module
 */

import { left } from 'fp-ts/lib/Either.js'
import { messageOf } from '../core/awaitable.ts'
import { steady, systemClock } from '../core/clock.ts'
import type { Cancel, Clock } from '../core/clock.ts'
import { earliestRetry, allFailed, retryable } from '../core/failure.ts'
import type { Cause, Failure, Verdict } from '../core/failure.ts'
import { fromRun, runOf } from './layer.ts'
import type { Receiver, Run } from './layer.ts'
import type { Attempt, Sink } from './sink.ts'

/** One place for each sink, in the order of the sinks; undefined as long as its verdict is awaited. */
export type Answers = ReadonlyArray<Verdict | undefined>

/** The failure that is remembered for a sink. A prior that is no `AllFailed` says nothing about any sink. */
export const priorOf = (lastFailure: Failure | undefined, name: string): Failure | undefined =>
  lastFailure?._tag === 'AllFailed'
    ? lastFailure.causes.find((cause) => cause.sink === name)?.failure
    : undefined

/** Whether a sink may be asked at `now`: it has not refused for good, and did not ask to be left alone until later (DE1). */
export const isLive = (remembered: Failure | undefined, now: number): boolean => {
  if (remembered === undefined) return true
  const from = earliestRetry(remembered)
  return from !== undefined && from <= now
}

/**
 * The answers at the start of a round: a sink that is not asked answers with what is remembered of it, the others are awaited.
 * `now` is milliseconds since 1970.
 */
export const opening = (
  names: ReadonlyArray<string>,
  lastFailure: Failure | undefined,
  now: number,
): Array<Verdict | undefined> =>
  names.map((name) => {
    const remembered = priorOf(lastFailure, name)
    return remembered === undefined || isLive(remembered, now) ? undefined : left(remembered)
  })

/** Whether a verdict is an `AllFailed` of the very failures that the answers have. */
const saysTheSame = (verdict: Verdict, answers: Answers): boolean =>
  verdict._tag === 'Left' &&
  verdict.left._tag === 'AllFailed' &&
  verdict.left.causes.length === answers.length &&
  verdict.left.causes.every(({ failure }, at) => {
    const answer = answers[at]
    return answer?._tag === 'Left' && answer.left === failure
  })

/**
 * The verdict so far: a success as soon as there is one, every sink's cause in the order of the sinks when all have failed,
 * and undefined as long as neither is known. If all have failed as they did the `last` time, it is that verdict itself: what
 * waits by the thousand for receivers that are down shares one failure.
 */
export const combine = (
  names: ReadonlyArray<string>,
  answers: Answers,
  last?: Verdict,
): Verdict | undefined => {
  let awaited = false
  for (const answer of answers) {
    if (answer?._tag === 'Right') return answer
    if (answer === undefined) awaited = true
  }
  if (awaited) return undefined
  if (last !== undefined && saysTheSame(last, answers)) return last
  const causes: Cause[] = []
  answers.forEach((answer, at) => {
    const sink = names[at]
    if (sink !== undefined && answer?._tag === 'Left') causes.push({ sink, failure: answer.left })
  })
  // A list that grew has room for more, and what waits is kept in great numbers.
  return left(allFailed(causes.slice()))
}

/** What a first success may be told. */
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

/** What the sinks of this round are given: their own past each, and a place for what they can share. */
const attemptsOf = (attempt: Attempt, asked: number): ((name: string) => Attempt) => {
  const { number, until, lastFailure } = attempt
  const round = attempt.round ?? (asked > 1 ? { wire: undefined } : undefined)
  if (lastFailure === undefined) {
    const same =
      round === undefined || round === attempt.round ? attempt : { number, until, lastFailure, round }
    return () => same
  }
  return (name) => {
    const own = { number, until, lastFailure: priorOf(lastFailure, name) }
    return round === undefined ? own : { ...own, round }
  }
}

interface Delivery {
  /** Who is told; undefined when the delivery is over or cancelled. */
  to: Receiver | undefined
  /** Sinks that are not complete. */
  running: number
  /** Nothing is told before all are started. */
  started: boolean
  told: boolean
}

const defectVerdict = (defect: unknown): Verdict => left(retryable('defect', { detail: messageOf(defect) }))

/** Closes all at the same time, and waits for all before it fails with what the first of them failed with. */
const closeAll = async <A>(sinks: ReadonlyArray<Sink<A>>, within: number): Promise<void> => {
  const results = await Promise.allSettled(sinks.map(async (sink) => sink.close(within)()))
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

/**
 * One sink made of several: delivered as soon as one of them has taken the item (DE1).
 *
 * Each delivery is a round. It asks every sink that is still live, all at the same time: a sink that refused for good in
 * `attempt.prior`, or asked to be left alone until later, is not asked. The first success is the verdict, with the receipt of the sink
 * that won. The others are not aborted by it: they run to their end, and only then is the delivery complete. If none succeeds, the
 * verdict is an `AllFailed` with the cause of every sink in the order of the sinks; one that was not asked keeps its remembered cause. If
 * none is live, that verdict comes at once.
 *
 * A sink that errors counts as `Retryable('defect')` and disturbs nobody. One sink alone behaves as itself, only its failure is
 * an `AllFailed` too, so that what is remembered stays valid when a second one is added.
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
  const children = sinks.map((sink) => ({ name: sink.name, run: runOf(sink) }))
  let lastFailed: Verdict | undefined

  const run: Run<A> = (item, attempt, receiver) => {
    const answers = opening(names, attempt.lastFailure, attempt.lastFailure === undefined ? 0 : now())
    const asked = answers.reduce((sum, answer) => (answer === undefined ? sum + 1 : sum), 0)
    const attemptOf = attemptsOf(attempt, asked)
    const cancels: Cancel[] = []
    const delivery: Delivery = { to: receiver, running: asked, started: false, told: false }

    const proceed = (): void => {
      if (!delivery.started) return
      const verdict = delivery.told ? undefined : combine(names, answers, lastFailed)
      if (verdict !== undefined) {
        if (verdict._tag === 'Left') lastFailed = verdict
        delivery.told = true
        delivery.to?.next(verdict)
      }
      if (delivery.running > 0) return
      const { to } = delivery
      delivery.to = undefined
      to?.complete()
    }

    const receiverOf = (at: number): Receiver => ({
      next: (verdict) => {
        answers[at] = verdict
        proceed()
      },
      complete: () => {
        delivery.running--
        proceed()
      },
      error: (defect) => {
        answers[at] ??= defectVerdict(defect)
        delivery.running--
        proceed()
      },
    })

    for (const [at, child] of children.entries()) {
      if (answers[at] === undefined) cancels.push(child.run(item, attemptOf(child.name), receiverOf(at)))
    }
    delivery.started = true
    proceed()

    return () => {
      delivery.to = undefined
      for (const cancel of cancels) cancel()
    }
  }

  return fromRun(options.name ?? names.join(' | '), run, (within) => () => closeAll(sinks, within))
}
