import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Random } from '../../core/clock.ts'
import { allFailed, expired, notAll, partlyFailed, refused, retryable } from '../../core/failure.ts'
import type { Failure, Verdict } from '../../core/failure.ts'
import type { Progress } from '../../core/outcome.ts'
import type { RetryPolicy } from '../../policy/retryPolicy.ts'
import { step, type Step } from '../../policy/step.ts'
import { holds, same } from './assert.ts'
import { lawsOver, type Law } from './law.ts'

/** What a policy promises. `null` stands for no limit. */
export interface AskedPolicy {
  /** The delay after the first failure, in whole milliseconds, at least 1. */
  readonly base: number
  /** Each further failure multiplies the delay by it. */
  readonly factor: number
  /** No delay is longer, in milliseconds. */
  readonly maxDelay: number | null
  /** Each delay is drawn from 0 to what it would be otherwise, both included. A draw of 0 becomes 1 ms. */
  readonly jitter: boolean
  readonly maxRetries: number | null
  /** No attempt starts this many milliseconds after the start of the first, or later. */
  readonly within: number | null
  /** Whether a receiver's `Retry-After` is obeyed. */
  readonly retryAfter: boolean
}

/** A decision of your own, in the place of `step` with a policy. */
export type Decide = (
  progress: Progress | undefined,
  firstAttemptAt: number,
  verdict: Verdict,
  now: number,
  random: Random,
) => Step

/** Makes the policy that was asked for: of headrace's parts, or as a decision of your own. */
export type MakePolicy = (asked: AskedPolicy) => RetryPolicy | Decide

const START = 1_767_225_600_000
/** The largest draw below 1. */
const ALMOST_ONE = 1 - 2 ** -53

/** A failure alone, and those that consist of others: of a first success, of `toAll`, of the members of a batch. */
const nests = {
  alone: ([failure = refused('status')]: ReadonlyArray<Failure>) => failure,
  first: (all: ReadonlyArray<Failure>) => allFailed(all.map((failure) => ({ sink: 'one', failure }))),
  all: (all: ReadonlyArray<Failure>) => notAll(all.map((each) => ({ sink: 'one', verdict: left(each) }))),
  batch: (all: ReadonlyArray<Failure>) => partlyFailed([right({ sink: 'one' }), ...all.map(left)]),
}

/** Why an attempt failed that may be repeated. */
interface Cause {
  readonly reason: string
  readonly status?: number
}

/** Ends of failed attempts, in small numbers, near the last retry and the deadline. */
const moments = (fixed: Partial<AskedPolicy>) => {
  const small = fc.integer({ min: 1, max: 6 })
  const wait = fc.integer({ min: -1, max: 30 })
  const limit = <A>(each: fc.Arbitrary<A>) => fc.option(each, { freq: 2 })
  return fc
    .record({
      drawn: fc.record({
        ...{ base: small, factor: fc.constantFrom(1, 1.5, 2, 3), maxDelay: fc.option(small) },
        ...{
          jitter: fc.boolean(),
          maxRetries: limit(fc.nat(3)),
          within: limit(small),
          retryAfter: fc.boolean(),
        },
      }),
      retriesLeft: fc.nat(12),
      timeLeft: fc.oneof({ weight: 2, arbitrary: fc.nat(6) }, fc.constant(Infinity)),
      draw: fc.constantFrom(0, ALMOST_ONE),
      cause: fc.constantFrom<Cause>(
        ...[{ status: 503 }, { status: 429 }, { status: 408 }].map((of) => ({ reason: 'status', ...of })),
        ...[{ reason: 'timeout' }, { reason: 'network' }],
      ),
      nest: fc.constantFrom<keyof typeof nests>('alone', 'first', 'all', 'batch'),
      // Final, or retryable: as many milliseconds from now as `Retry-After` says, or null without one.
      parts: fc.array(fc.oneof(fc.constantFrom('final', null), wait, wait), { minLength: 1, maxLength: 2 }),
    })
    .map(({ drawn, retriesLeft, timeLeft, ...given }) => {
      const asked: AskedPolicy = { ...drawn, ...fixed }
      const before = Math.max(0, (asked.maxRetries ?? 12) - retriesLeft)
      const elapsed = Math.max(0, (asked.within ?? 6) - timeLeft)
      const parts = given.nest === 'alone' ? given.parts.slice(0, 1) : given.parts
      return { ...given, asked, before, elapsed, parts }
    })
}

/** `before` counts the attempts that failed before, `elapsed` is the time since the start of the first. */
type Moment = ReturnType<typeof moments> extends fc.Arbitrary<infer Each> ? Each : never

const failureOf = ({ nest, parts, elapsed, cause: { reason, ...status } }: Moment): Failure =>
  nests[nest](
    parts.map((part) => {
      if (part === 'final') return refused('status', { status: 404 })
      return retryable(reason, part === null ? status : { ...status, notBefore: START + elapsed + part })
    }),
  )

/** The delay without jitter. */
const longestOf = ({ asked, before }: Moment): number =>
  Math.floor(Math.min(asked.base * asked.factor ** before, asked.maxDelay ?? Infinity))

/** What a moment should lead to. Its draw is 0 or the largest. */
const expectedOf = (moment: Moment): Step => {
  const { asked, before, elapsed, draw, nest, parts } = moment
  const backoff = Math.max(1, asked.jitter && draw === 0 ? 0 : longestOf(moment))
  const attempts = before + 1
  const failure = failureOf(moment)
  const wishes = parts.flatMap((part) => (part === 'final' ? [] : (part ?? 0)))
  if (wishes.length === 0) return { _tag: 'Reject', attempts, failure }
  // Several sinks hold back by themselves: before that time an attempt would send nothing.
  const isObeyed = asked.retryAfter || nest === 'first' || nest === 'all'
  const delay = Math.max(backoff, isObeyed ? Math.min(...wishes) : 0)
  const limit = before >= (asked.maxRetries ?? Infinity) ? 'attempts' : 'deadline'
  if (limit === 'attempts' || elapsed + delay >= (asked.within ?? Infinity))
    return { _tag: 'Expire', attempts, failure: expired(attempts, START, failure, limit) }
  const because = delay > backoff ? 'Retry-After' : 'backoff'
  const progress = { attempts, lastFailure: failure }
  return { _tag: 'Wait', due: START + elapsed + delay, delay, because, progress }
}

/**
 * Laws for a retry policy: it keeps what it promises about delays, retries, deadline and `Retry-After`.
 *
 * @param fixed what your policy promises, if it does not take all of it as parameters
 * @example
 * import { standard } from 'headrace'
 * import { checkLaws, policyLaws } from 'headrace/testing/laws'
 *
 * const asked = { base: 1_000, factor: 2, maxDelay: 600_000, jitter: true, maxRetries: null, within: 14_400_000, retryAfter: true }
 * const reports = await checkLaws(policyLaws(() => standard, asked), { seed: 1 })
 * console.log(reports.every(({ result }) => result === 'kept')) // => true
 */
export const policyLaws = (makePolicy: MakePolicy, fixed: Partial<AskedPolicy> = {}): ReadonlyArray<Law> => {
  const names: ReadonlyArray<string> = [
    'base',
    'factor',
    'maxDelay',
    'jitter',
    'maxRetries',
    'within',
    'retryAfter',
  ]
  const unknown = Object.keys(fixed).find((name) => !names.includes(name))
  if (unknown !== undefined) throw new TypeError(`policyLaws: a policy promises no ${unknown}`)
  /** What the policy says, by default after the failure of the moment. */
  const ask = (moment: Moment, verdict: Verdict = left(failureOf(moment)), random?: Random): Step => {
    const made = makePolicy(moment.asked)
    const decide: Decide = typeof made === 'function' ? made : (...given) => step(made, ...given)
    const { before, draw, elapsed } = moment
    const progress = before === 0 ? undefined : { attempts: before, lastFailure: retryable('network') }
    return decide(progress, START, verdict, START + elapsed, random ?? (() => draw))
  }
  return lawsOver('policy', moments(fixed), (moment) => ask(moment), {
    'pause-before-each-attempt': {
      statement: 'Before each attempt there is a pause of at least 1 ms, in whole milliseconds.',
      check: (after, { elapsed }) => {
        if (after._tag !== 'Wait') return
        holds(Number.isSafeInteger(after.due) && after.delay >= 1, `a pause of ${String(after.delay)} ms`)
        same(after.delay, after.due - START - elapsed)
      },
    },
    'backoff-within-its-bounds': {
      statement: 'A delay grows by its factor up to its maximum, and jitter is drawn evenly from all of it.',
      situations: [fixed.maxDelay === null ? [] : 'capped', fixed.jitter === false ? [] : 'jitter'].flat(),
      check: (_, given, { reach }) => {
        const moment: Moment = { ...given, elapsed: 0, parts: [null] }
        const [after, expected] = [ask(moment), expectedOf(moment)]
        if (after._tag !== 'Wait' || expected._tag !== 'Wait') return
        if (after.delay === given.asked.maxDelay) reach('capped')
        if (given.asked.jitter && given.draw > 0) reach('jitter')
        same(after.delay, expected.delay)
        if (!given.asked.jitter) return
        const half = ask({ ...moment, draw: 0.5 })
        // The least pause is 1 ms, and halves may be rounded.
        const isHalf = half._tag !== 'Wait' || Math.abs(half.delay - longestOf(moment) / 2) <= 1
        holds(
          isHalf,
          `half of the jitter is ${JSON.stringify(half)}, of ${String(longestOf(moment))} ms at most`,
        )
      },
    },
    'due-when-both-allow-it': {
      statement:
        'The next attempt is due after the backoff, or later if the receiver wants it, and then names `Retry-After` as its reason.',
      situations: ['held by Retry-After', 'after the backoff'],
      check: (after, moment, { reach }) => {
        const expected = expectedOf(moment)
        if (after._tag !== 'Wait' || expected._tag !== 'Wait') return
        const isHeld = expected.because === 'Retry-After'
        reach(isHeld ? 'held by Retry-After' : 'after the backoff')
        same([after.due, after.because === 'Retry-After'], [expected.due, isHeld])
      },
    },
    'verdict-decides': {
      statement:
        'A success is delivered, what a retry inside gave up on expires, a final failure is rejected; with a retryable part it is not.',
      situations: ['a final and a retryable part'],
      check: (after, moment, { reach }) => {
        const attempts = moment.before + 1
        const receipt = { sink: 'one', status: 200 }
        same(ask(moment, right(receipt)), { _tag: 'Deliver', attempts, receipt })
        const inner = expired(attempts + 2, START, failureOf(moment), 'deadline')
        same(ask(moment, left(inner)), { _tag: 'Expire', attempts: attempts + 2, failure: inner })
        const isRejected = expectedOf(moment)._tag === 'Reject'
        if (!isRejected && moment.parts.includes('final')) reach('a final and a retryable part')
        same(after._tag === 'Reject', isRejected)
      },
    },
    'gives-up-in-time': {
      statement:
        'It gives up when the next attempt would be at the deadline or later, or one too many; never before.',
      situations: fixed.within === null && fixed.maxRetries === null ? ['Wait'] : ['Wait', 'Expire'],
      check: (after, moment, { reach }) => {
        const { _tag } = expectedOf(moment)
        reach(_tag)
        if (_tag !== 'Reject') same(after._tag, _tag)
      },
    },
    'attempts-are-counted': {
      statement: 'Attempts are counted, and what is stored or reported is the last failure itself.',
      check: (after, moment) => {
        const expected = expectedOf(moment)
        const toldOf = (each: Step): unknown => (each._tag === 'Wait' ? each.progress : each)
        if (after._tag === expected._tag) same(toldOf(after), toldOf(expected))
      },
    },
    pure: {
      statement: 'The same question has the same answer, and takes one random number if it is retryable.',
      check: (after, moment) => {
        let draws = 0
        const counted = (): number => {
          draws++
          return moment.draw
        }
        same(ask(moment, undefined, counted), after)
        same(draws, expectedOf(moment)._tag === 'Reject' ? 0 : 1)
      },
    },
  })
}
