import * as fc from 'fast-check'
import { left } from '../../core/either.ts'
import { retryable } from '../../core/failure.ts'
import * as parts from '../../policy/retryPolicy.ts'
import type { RetryPolicy } from '../../policy/retryPolicy.ts'
import { step, type Step } from '../../policy/step.ts'
import { holds, same, lawsOver, type Law } from './law.ts'

/** The promises of a policy. `null` stands for no limit. @inline */
export interface AskedPolicy {
  /** The delay after the first failure, in whole milliseconds, at least 1. */
  readonly base: number
  /** Each further failure multiplies the delay by it. */
  readonly factor: number
  /** No delay is longer, in milliseconds. */
  readonly maxDelay: number | null
  /** Each delay is drawn from 0 to its value without jitter, both included. A draw of 0 becomes 1 ms. */
  readonly jitter: boolean
  readonly maxRetries: number | null
  /** No attempt starts this many milliseconds after the start of the first, or later. */
  readonly within: number | null
  /** Whether a receiver's `Retry-After` is obeyed. */
  readonly retryAfter: boolean
}

/** Makes the policy that was asked for, of headrace's parts. @inline */
export type MakePolicy = (asked: AskedPolicy) => RetryPolicy

/** Milliseconds: few near numbers, so that parts of one policy often tie or just miss each other. */
export const policyTime: fc.Arbitrary<number> = fc.constantFrom(1, 2, 999, 1_000, 1_001, 2_000, 8_000, 60_000)

/** Policies of any form. They are plain data, so a counterexample prints and replays. */
export const policy: fc.Arbitrary<RetryPolicy> = fc.letrec<{ policy: RetryPolicy }>((tie) => ({
  policy: fc.oneof(
    { maxDepth: 4, depthSize: 'max', withCrossShrink: true },
    fc.constantFrom(parts.always, parts.respectRetryAfter),
    fc.record({ base: policyTime, factor: fc.constantFrom(1, 1.5, 2) }).map(parts.exponential),
    fc.nat({ max: 4 }).map(parts.limitRetries),
    policyTime.map(parts.deadline),
    fc.tuple(policyTime, tie('policy')).map(([most, inner]) => parts.capDelay(most)(inner)),
    tie('policy').map(parts.fullJitter),
    { weight: 3, arbitrary: fc.tuple(tie('policy'), tie('policy')).map(([a, b]) => parts.both(a, b)) },
  ),
})).policy

const START = 1_767_225_600_000
const ALMOST_ONE = 1 - 2 ** -53

/** Ends of failed attempts, in small numbers, near the last retry and the deadline. */
const moments = (fixed: Partial<AskedPolicy>) => {
  const small = fc.integer({ min: 1, max: 6 })
  const limit = <A>(each: fc.Arbitrary<A>) => fc.option(each, { freq: 2 })
  return fc
    .record({
      drawn: fc.record({
        base: small,
        factor: fc.constantFrom(1, 1.5, 2, 3),
        maxDelay: fc.option(small),
        jitter: fc.boolean(),
        maxRetries: limit(fc.nat(3)),
        within: limit(small),
        retryAfter: fc.boolean(),
      }),
      retriesLeft: fc.nat(12),
      timeLeft: fc.oneof({ weight: 2, arbitrary: fc.nat(6) }, fc.constant(Infinity)),
      draw: fc.constantFrom(0, ALMOST_ONE),
      // When the receiver wants the next attempt, in milliseconds from now; null: it does not say.
      wish: fc.option(fc.integer({ min: -1, max: 30 })),
    })
    .map(({ drawn, retriesLeft, timeLeft, ...given }) => {
      const asked: AskedPolicy = { ...drawn, ...fixed }
      const { base, factor, maxDelay, maxRetries } = asked
      const toMaximum = factor > 1 ? Math.log((maxDelay ?? base) / base) / Math.log(factor) : 0
      // Some are beyond the failures that reach the maximum.
      const most = maxRetries ?? Math.max(12, Math.ceil(1.2 * toMaximum))
      const before = Math.round(most * (1 - retriesLeft / 12))
      return { ...given, asked, before, elapsed: Math.max(0, (asked.within ?? 6) - timeLeft) }
    })
}

/** `before` counts the attempts that failed before, `elapsed` is the time since the start of the first. */
type PolicyMoment = ReturnType<typeof moments> extends fc.Arbitrary<infer Each> ? Each : never

/** The delay without jitter. */
const longestOf = ({ asked, before }: PolicyMoment): number =>
  Math.floor(Math.min(asked.base * asked.factor ** before, asked.maxDelay ?? Infinity))

/** The expectation of a moment: the next pause, or the limit that ends it. Its draw is 0 or the largest. */
const expectedPause = (moment: PolicyMoment): Readonly<{ pause: number; isHeld: boolean }> | 'expires' => {
  const { asked, before, elapsed, draw, wish } = moment
  const backoff = Math.max(1, asked.jitter && draw === 0 ? 0 : longestOf(moment))
  const pause = Math.max(backoff, asked.retryAfter ? (wish ?? 0) : 0)
  const isOver = before >= (asked.maxRetries ?? Infinity) || elapsed + pause >= (asked.within ?? Infinity)
  return isOver ? 'expires' : { pause, isHeld: pause > backoff }
}

/**
 * Laws for a retry policy: it keeps its promises about delays, retries, deadline and `Retry-After`.
 *
 * @param fixed the promises of your policy, if it does not take all of them as parameters
 *
 * @example
 * import { standard } from 'headrace/policy'
 * import { checkLaws, policyLaws } from 'headrace/testing/laws'
 *
 * const asked = {
 *   base: 1_000,
 *   factor: 2,
 *   maxDelay: 600_000,
 *   jitter: true,
 *   maxRetries: null,
 *   within: 14_400_000,
 *   retryAfter: true,
 * }
 * const reports = await checkLaws(policyLaws(() => standard, asked), { seed: 1 })
 * console.log(reports.every(({ result }) => result === 'kept')) // => true
 */
export const policyLaws = (makePolicy: MakePolicy, fixed: Partial<AskedPolicy> = {}): ReadonlyArray<Law> => {
  const names = /^(base|factor|maxDelay|jitter|maxRetries|within|retryAfter)$/
  const unknown = Object.keys(fixed).find((name) => !names.test(name))
  if (unknown !== undefined) throw new TypeError(`policyLaws: a policy promises no ${unknown}`)
  const ask = ({ asked, before, elapsed, draw, wish }: PolicyMoment): Step<undefined> => {
    const progress = before === 0 ? undefined : { attempts: before, lastFailure: retryable('network') }
    const now = START + elapsed
    const failure = retryable('status', { status: 503, ...(wish !== null && { notBefore: now + wish }) })
    return step(makePolicy(asked), undefined, progress, START, left(failure), now, () => draw)
  }
  return lawsOver('policy', moments(fixed), ask, {
    'backoff-within-its-bounds': {
      statement: 'A delay grows by its factor up to its maximum, and jitter is drawn evenly from all of it.',
      // A policy of its own may end before its maximum.
      situations: ['maxDelay' in fixed ? [] : 'capped', fixed.jitter === false ? [] : 'jitter'].flat(),
      check: (_, given, { reach }) => {
        const moment: PolicyMoment = { ...given, elapsed: 0, wish: null }
        const [after, expected] = [ask(moment), expectedPause(moment)]
        if (after._tag !== 'Wait' || expected === 'expires') return
        if (after.delay === given.asked.maxDelay) reach('capped')
        if (given.asked.jitter && given.draw > 0) reach('jitter')
        same(after.delay, expected.pause)
        if (!given.asked.jitter) return
        const half = ask({ ...moment, draw: 0.5 })
        // The least pause is 1 ms, and halves may be rounded.
        const isHalf = half._tag !== 'Wait' || Math.abs(half.delay - longestOf(moment) / 2) <= 1
        holds(isHalf, `half of the jitter is ${JSON.stringify(half)}, of ${String(longestOf(moment))} ms`)
      },
    },
    'due-when-both-allow-it': {
      statement:
        'The next attempt is due after the backoff, or later by the receiver, then because of `Retry-After`.',
      situations: ['held by Retry-After', 'after the backoff'],
      check: (after, moment, { reach }) => {
        const expected = expectedPause(moment)
        if (after._tag !== 'Wait' || expected === 'expires') return
        reach(expected.isHeld ? 'held by Retry-After' : 'after the backoff')
        same([after.delay, after.because === 'Retry-After'], [expected.pause, expected.isHeld])
      },
    },
    'gives-up-in-time': {
      statement:
        'It gives up when the next attempt would be at the deadline or later, or one too many; never before.',
      situations: fixed.within === null && fixed.maxRetries === null ? ['Wait'] : ['Wait', 'Expired'],
      check: (after, moment, { reach }) => {
        const expected = expectedPause(moment) === 'expires' ? 'Expired' : 'Wait'
        reach(expected)
        same(after._tag, expected)
      },
    },
  })
}
