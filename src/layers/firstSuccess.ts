import { left } from 'fp-ts/lib/Either.js'
import { type Cancel, type Clock, steady, systemClock } from '../clock/Clock.ts'
import { messageOf } from '../internal/messageOf.ts'
import { retryable } from '../outcome/Failure.ts'
import type { Verdict } from '../outcome/Verdict.ts'
import { fromRun, type Receiver, type Run, runOf } from '../sink/Run.ts'
import type { Attempt, Sink } from '../sink/Sink.ts'
import { combine, opening, priorOf } from './Answers.ts'

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
  const { number, until, prior } = attempt
  const round = attempt.round ?? (asked > 1 ? { wire: undefined } : undefined)
  if (prior === undefined) {
    const same = round === undefined || round === attempt.round ? attempt : { number, until, prior, round }
    return () => same
  }
  return (name) => {
    const own = { number, until, prior: priorOf(prior, name) }
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
 * verdict is an `EachOf` with the cause of every sink in the order of the sinks; one that was not asked keeps its remembered cause. If
 * none is live, that verdict comes at once.
 *
 * A sink that errors counts as `Retryable('defect')` and disturbs nobody. One sink alone behaves as itself, only its failure is
 * an `EachOf` too, so that what is remembered stays valid when a second one is added.
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
    const answers = opening(names, attempt.prior, attempt.prior === undefined ? 0 : now())
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
