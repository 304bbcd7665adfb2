/**
 * Several sinks as one: `firstSuccess`, `failover`, `toAll`. Their memory between attempts is in their
 * failure, so it survives a restart, and they nest in each other.
 *
 * @module
 */

import { isRight, left, lefts, right } from '../core/either.ts'
import type { Cancel, Clock } from '../core/clock.ts'
import { drainLoop } from '../core/drainLoop.ts'
import { allFailed, carried, earliestRetry, isFinal, notAll } from '../core/failure.ts'
import { retryable, startedIf, wasStarted } from '../core/failure.ts'
import type { AllFailed, Cause, Failure, NotAll, Verdict } from '../core/failure.ts'
import { checkOptions, optional, strict, text } from '../core/options.ts'
import { thrown } from '../log/logEvent.ts'
import { assertSink, deliveringBy, makeSink, reporting } from './layer.ts'
import { reportedTo } from './observe.ts'
import { newShared, nowOf, partOf, SHARED, type Attempt, type Sink } from './sink.ts'

/** Options of `firstSuccess`, `failover` and `toAll`. */
export interface CombinationOptions {
  /** Default: the names of the sinks, joined by ` | `, ` > ` or ` & `. */
  readonly name?: string
}

const combinationOptions = strict({ name: optional(text) })

/** The differences between the combinations. */
interface Rules<F extends AllFailed | NotAll = AllFailed | NotAll> {
  readonly called: string
  readonly separator: string
  /** Whether a sink is asked only after the one before it failed. */
  readonly isInTurn: boolean
  /** Whether one success is enough. */
  readonly wantsOne: boolean
  /** A sink's answer in an earlier attempt. */
  readonly before: (lastFailure: Failure, sink: string) => Verdict | undefined
  /** The verdict when every sink has answered, and no success was enough. */
  readonly together: (verdicts: ReadonlyArray<Verdict>, names: ReadonlyArray<string>) => F
}

const NOT_ASKED = 'the deadline came before it was asked; no request was sent'
const NOT_ASKED_IN_TIME: Verdict = left(retryable('late', { detail: NOT_ASKED }))

const namesOf = <A>(called: string, sinks: ReadonlyArray<Sink<A>>): ReadonlyArray<string> => {
  const given: unknown = sinks
  if (!Array.isArray(given) || given.length === 0)
    throw new TypeError(`${called}: expected a list of sinks, such as ${called}([a, b])`)
  for (const sink of sinks) assertSink(called, sink)
  const names = sinks.map((sink) => sink.name)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice === undefined) return names
  throw new TypeError(`${called}: two sinks have the name ${twice}: give each a name of its own`)
}

const contentOf = (verdict?: Verdict) => verdict && (isRight(verdict) ? verdict.right : verdict.left)

/** Whether the sinks answered the very same failures and receipts. */
const sameVerdicts = (some: ReadonlyArray<Verdict>, others: ReadonlyArray<Verdict>): boolean =>
  some.length === others.length && some.every((each, at) => contentOf(each) === contentOf(others[at]))

/** Closes all at the same time, and waits for all before it fails with the first error. */
export const closeAll = async <A>(all: ReadonlyArray<Sink<A>>, within: number, on: Clock): Promise<void> => {
  const closes = all.map(async (sink) => sink.close({ timeout: within, clock: on }))
  const results = await Promise.allSettled(closes)
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

/** `added`: causes of sinks that came since, for a failure of all that were asked. */
const combine = <A>(
  rules: Rules,
  sinks: ReadonlyArray<Sink<A>>,
  options: CombinationOptions,
  added: () => ReadonlyArray<Cause> = () => [],
): Sink<A> => {
  const { called, separator } = rules
  const names = namesOf(called, sinks)
  const { name = names.join(separator) } = checkOptions(`options of ${called}`, combinationOptions, options)
  const everyone = sinks.map((sink, at) => ({ at, called: sink.name, subscribe: reportedTo(sink) }))
  const nothing: ReadonlyArray<Verdict | undefined> = names.map(() => undefined)
  /** Given again if all fail as before: thousands of items with the same failure share one verdict. */
  let lastFailed:
    Readonly<{ verdicts: ReadonlyArray<Verdict>; isStarted: boolean; verdict: Verdict }> | undefined

  /** Whether an earlier answer stands: the sink took the item, refused it, or asked to wait longer. */
  const isSettled = (answer: Verdict, at: number): boolean =>
    answer._tag === 'Right' || (earliestRetry(answer.left) ?? Infinity) > at

  /** `isStarted`: a sink started a request in this attempt. */
  const together = (answers: ReadonlyArray<Verdict | undefined>, isStarted: boolean): Verdict => {
    const verdicts = answers.filter((answer) => answer !== undefined)
    if (!rules.wantsOne && verdicts.every(isRight)) return right({ sink: name })
    const more = verdicts.every(isFinal) ? added() : []
    if (more.length > 0) {
      const { causes } = FIRST_SUCCESS.together(verdicts, names)
      return left(startedIf(isStarted, allFailed([...causes, ...more])))
    }
    if (lastFailed?.isStarted === isStarted && sameVerdicts(lastFailed.verdicts, verdicts))
      return lastFailed.verdict
    const verdict = left(startedIf(isStarted, rules.together(verdicts, names)))
    lastFailed = { verdicts, isStarted, verdict }
    return verdict
  }

  const made = makeSink<A>(
    name,
    (item, attempt, observer) => {
      const { number, until, lastFailure, clock, report, from, headers } = attempt
      const isFirst = lastFailure === undefined
      // The first attempt remembers nothing: it is most of them.
      const before = isFirst ? nothing : names.map((each) => rules.before(lastFailure, each))
      const answers = before.map((old) => (old && isSettled(old, nowOf(attempt)) ? old : undefined))
      const open = isFirst ? everyone : everyone.filter(({ at }) => answers[at] === undefined)
      const shared = attempt[SHARED] ?? (open.length > 1 ? newShared() : undefined)
      const cancels: Cancel[] = []
      let unanswered = open.length
      let asked = 0
      let running = 0
      let verdict: Verdict | undefined
      let isStarted = false
      let isOver = false

      /** A sink's own last failure, and the shared work. A spread doubles the time of a delivery. */
      const attemptFor = (at: number): Attempt => {
        const answer = before[at]
        const own = answer?._tag === 'Left' ? answer.left : undefined
        return { number, until, lastFailure: own, clock, report, from, headers, [SHARED]: shared }
      }

      const answer = (at: number, given: Verdict): void => {
        if (answers[at] !== undefined) return
        const own = before[at]
        // A gate around a combination does not know the verdicts of the sinks inside.
        const isBoth = own?._tag === 'Left' && given._tag === 'Left'
        answers[at] = isBoth ? left(carried(own.left, given.left)) : given
        unanswered--
        isStarted ||= given._tag === 'Right' || wasStarted(given.left)
        if (rules.wantsOne && given._tag === 'Right') verdict ??= given
        else if (unanswered === 0) verdict ??= together(answers, isStarted)
      }

      const ask = ({ at, called, subscribe }: (typeof everyone)[number]): void => {
        running++
        const end = (): void => {
          running--
          proceed()
        }
        const cancel = subscribe(item, attemptFor(at), {
          next: (given) => {
            answer(at, given)
            proceed()
          },
          complete: end,
          error: (error) => {
            report?.({ _tag: 'Defect', at: nowOf(attempt), from: partOf(attempt), where: called, error })
            answer(at, left(thrown('defect', error)))
            end()
          },
        })
        if (isOver) cancel()
        else cancels.push(cancel)
      }

      /** A sink that answers at once calls this again. Nothing is emitted until all permitted are asked. */
      const proceed = drainLoop(() => {
        for (let each = open[asked]; each !== undefined && !isOver; each = open[asked]) {
          // In turn: only when the one before it has failed.
          if (rules.isInTurn && (verdict !== undefined || unanswered !== open.length - asked)) break
          asked++
          if (asked > 1 && rules.isInTurn && nowOf(attempt) >= until) answer(each.at, NOT_ASKED_IN_TIME)
          else ask(each)
        }
        if (verdict !== undefined) observer.next(verdict)
        if (running === 0) observer.complete()
      })

      if (unanswered === 0) verdict = together(answers, false)
      proceed()
      return () => {
        isOver = true
        for (const cancel of cancels) cancel()
      }
    },
    (timeout, clock) => closeAll(sinks, timeout, clock),
  )
  for (const inner of sinks) deliveringBy(inner, made)
  return reporting(made)
}

const FIRST_SUCCESS: Rules<AllFailed> = {
  called: 'firstSuccess',
  separator: ' | ',
  isInTurn: false,
  wantsOne: true,
  before: (lastFailure, sink) => {
    const causes = lastFailure._tag === 'AllFailed' ? lastFailure.causes : []
    const cause = causes.find((each) => each.sink === sink)
    return cause && left(cause.failure)
  },
  together: (verdicts, names) =>
    allFailed(lefts(verdicts).map((failure, at) => ({ sink: names[at] ?? '', failure }))),
}

/** As `firstSuccess`, for sinks that change while deliveries run. `added` has those that came since. */
export const firstOf = <A>(sinks: ReadonlyArray<Sink<A>>, added: () => ReadonlyArray<Cause>): Sink<A> =>
  combine(FIRST_SUCCESS, sinks, {}, added)

const FAILOVER: Rules = { ...FIRST_SUCCESS, called: 'failover', separator: ' > ', isInTurn: true }

const TO_ALL: Rules = {
  called: 'toAll',
  separator: ' & ',
  isInTurn: false,
  wantsOne: false,
  before: (lastFailure, sink) => {
    const verdicts = lastFailure._tag === 'NotAll' ? lastFailure.verdicts : []
    return verdicts.find((each) => each.sink === sink)?.verdict
  },
  together: (verdicts, names) => notAll(verdicts.map((verdict, at) => ({ sink: names[at] ?? '', verdict }))),
}

/**
 * One sink made of several: delivered as soon as one of them has taken the item.
 *
 * A delivery asks all its sinks at the same time, except a sink that refused for good in the last attempt, or
 * asked to wait longer (`attempt.lastFailure` says so). The first success is the verdict, with the receipt of
 * the sink that won. The others are not aborted: they run to their end, and only then is the delivery
 * complete. If none succeeds, the verdict is an `AllFailed` with the cause of every sink in the order of the
 * sinks; a sink that was not asked keeps its remembered cause. A sink that errors counts as
 * `Retryable('defect')`.
 *
 * @throws TypeError without any sink, or if two sinks have the same name.
 *
 * @example
 * import { firstSuccess, sink } from 'headrace'
 *
 * const either = firstSuccess([
 *   sink('near', async (text: string) => text.length),
 *   sink('far', async (text: string) => text.length),
 * ])
 */
export const firstSuccess = <A>(sinks: ReadonlyArray<Sink<A>>, options: CombinationOptions = {}): Sink<A> =>
  combine(FIRST_SUCCESS, sinks, options)

/**
 * One sink made of several, in their order: each is asked when the one before it has failed. The first
 * success is the verdict.
 *
 * A sink that refused for good in an earlier attempt, or asked to wait longer, is skipped, so the next
 * attempt starts with the first sink that may be asked. None behind it is asked at or after `attempt.until`.
 * If none succeeds, the verdict is an `AllFailed`.
 *
 * @throws TypeError without any sink, or if two sinks have the same name.
 *
 * @example
 * import { failover, sink } from 'headrace'
 *
 * const store = failover([
 *   sink('primary', async (text: string) => text.length),
 *   sink('standby', async (text: string) => text.length),
 * ])
 * console.log(store.name) // => primary > standby
 */
export const failover = <A>(sinks: ReadonlyArray<Sink<A>>, options: CombinationOptions = {}): Sink<A> =>
  combine(FAILOVER, sinks, options)

/**
 * One sink made of several that must all take the item. It asks them at the same time, and answers when each
 * has answered: delivered if all took it, else `NotAll` with the verdict of each. A sink that took the item
 * is not asked again, neither is one that refused it for good; the item is rejected when every sink has one
 * of these verdicts and some refused.
 *
 * @throws TypeError without any sink, or if two sinks have the same name.
 *
 * @example
 * import { sink, toAll } from 'headrace'
 *
 * const both = toAll([
 *   sink('warehouse', async (text: string) => text.length),
 *   sink('crm', async (text: string) => text.length),
 * ])
 * console.log(both.name) // => warehouse & crm
 */
export const toAll = <A>(sinks: ReadonlyArray<Sink<A>>, options: CombinationOptions = {}): Sink<A> =>
  combine(TO_ALL, sinks, options)
