/**
 * The laws of `step` (pipelines/R1 to R10, DE4, DE5) and of combined policies. The moments are placed near their own limits: a deadline falls
 * just before, on or just after a due time. What `step` should do is computed from the record of the moment alone.
 */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import { describe, it } from 'vitest'
import { allFailed, expired, partlyFailed, refused, retryable } from '../../src/core/failure.ts'
import type { Failure, Verdict } from '../../src/core/failure.ts'
import type { Progress } from '../../src/core/outcome.ts'
import {
  Monoid,
  always,
  both,
  capDelay,
  deadline,
  exponential,
  fullJitter,
  limitRetries,
  respectRetryAfter,
} from '../../src/policy/retryPolicy.ts'
import type { RetryPolicy } from '../../src/policy/retryPolicy.ts'
import { step, type Step, type Wait } from '../../src/policy/step.ts'
import { policy, policyTime } from '../../src/testing/laws/policies.ts'
import { holds, law, type PlainLaw, same } from '../support/check.ts'

/** What is tested: `step`, or a mutant of it. */
export type StepFunction = typeof step

/** A delay-giving part. */
interface Curve {
  readonly base: number
  readonly factor: number
  readonly cap: number | undefined
  readonly jitter: 'none' | 'outside the cap' | 'inside the cap'
}

/** A policy as a record: several curves, and limits. */
interface Shape {
  readonly curves: ReadonlyArray<Curve>
  readonly retries: number | undefined
  readonly within: number | undefined
  readonly honours: boolean
  /** Reverses the order of the parts. */
  readonly reversed: boolean
}

/** The largest draw below 1. */
const ALMOST_ONE: number = 1 - 2 ** -53

const policyOfCurve = ({ base, factor, cap, jitter }: Curve): RetryPolicy => {
  const capped = cap === undefined ? (policy: RetryPolicy) => policy : capDelay(cap)
  const inner = exponential({ base, factor })
  switch (jitter) {
    case 'none':
      return capped(inner)
    case 'outside the cap':
      return pipe(inner, capped, fullJitter)
    case 'inside the cap':
      return pipe(inner, fullJitter, capped)
  }
}

const policyOf = (shape: Shape): RetryPolicy => {
  const parts = [
    ...shape.curves.map(policyOfCurve),
    ...(shape.retries === undefined ? [] : [limitRetries(shape.retries)]),
    ...(shape.within === undefined ? [] : [deadline(shape.within)]),
    ...(shape.honours ? [respectRetryAfter] : []),
  ]
  return (shape.reversed ? parts.toReversed() : parts).reduce(both, always)
}

/** The most that a curve may give after a number of failures, in whole milliseconds. */
const mostOf = (curve: Curve, failures: number): number => {
  let most = curve.base
  for (let i = 1; i < failures && most < 1e15; i++) most *= curve.factor
  return Math.floor(Math.min(most, curve.cap ?? Infinity))
}

/** What a curve gives for a draw: each whole number from 0 to its most is equally likely. */
const delayOf = (curve: Curve, failures: number, draw: number): number => {
  const most = mostOf(curve, failures)
  if (curve.jitter === 'none') return most
  if (curve.jitter === 'outside the cap') return Math.floor(draw * (most + 1))
  const uncapped = mostOf({ ...curve, cap: undefined }, failures)
  return Math.min(Math.floor(draw * (uncapped + 1)), curve.cap ?? Infinity)
}

/** The backoff of a shape: the longest delay, at least 1 ms. */
const backoffOf = (shape: Shape, failures: number, draw: number): number =>
  Math.max(1, ...shape.curves.map((curve) => delayOf(curve, failures, draw)))

/** One part of a failure. `at` is a moment, as `Retry-After` gives it. */
type Leaf = { readonly final: true } | { readonly final: false; readonly at: number | undefined }

/** How the leaves of a failure are held together. */
type Nest = 'alone' | 'each' | 'some' | 'some of each' | 'each of some'

const failureOfLeaf = (leaf: Leaf): Failure => {
  if (leaf.final) return refused('status', { status: 404 })
  return retryable('status', leaf.at === undefined ? { status: 500 } : { status: 429, notBefore: leaf.at })
}

const failureOf = (nest: Nest, leaves: ReadonlyArray<Leaf>): Failure => {
  const failures = leaves.map(failureOfLeaf)
  const each = (of: ReadonlyArray<Failure>): Failure =>
    allFailed(of.map((failure, i) => ({ sink: `sink ${i}`, failure })))
  const some = (of: ReadonlyArray<Failure>): Failure =>
    partlyFailed([{ _tag: 'Right', right: { sink: 'x' } }, ...of.map((failure) => left(failure))])
  const [first = refused('status')] = failures
  switch (nest) {
    case 'alone':
      return first
    case 'each':
      return each(failures)
    case 'some':
      return some(failures)
    case 'some of each':
      return some([first, each(failures)])
    case 'each of some':
      return each([first, some(failures)])
  }
}

/** The earliest moment at which some leaf may be tried; 0 for any time. */
const earliestOf = (leaves: ReadonlyArray<Leaf>): number =>
  Math.min(...leaves.flatMap((leaf) => (leaf.final ? [] : [leaf.at ?? 0])))

/** A moment after a failed attempt. */
interface Moment {
  readonly shape: Shape
  /** Attempts that failed before this one. */
  readonly before: number
  readonly firstAttemptAt: number
  readonly now: number
  readonly draw: number
  readonly nest: Nest
  readonly leaves: ReadonlyArray<Leaf>
}

/** What a moment should lead to, from the record alone. */
interface Expected {
  readonly retryable: boolean
  readonly backoff: number
  /** Whether `Retry-After` set the due time. */
  readonly held: boolean
  readonly due: number
  readonly deadline: number
  readonly exhausted: boolean
}

const expectedOf = ({ shape, before, firstAttemptAt, now, draw, nest, leaves }: Moment): Expected => {
  const counted = nest === 'alone' ? leaves.slice(0, 1) : leaves
  const backoff = backoffOf(shape, before + 1, draw)
  const asked = shape.honours || nest.startsWith('each') ? earliestOf(counted) : 0
  return {
    retryable: counted.some((leaf) => !leaf.final),
    backoff,
    held: asked > now + backoff,
    due: Math.max(now + backoff, asked),
    deadline: firstAttemptAt + (shape.within ?? Infinity),
    exhausted: before >= (shape.retries ?? Infinity),
  }
}

/** Asks for the step of a moment, by default after its failure. */
const stepAt = (
  decide: StepFunction,
  { shape, before, firstAttemptAt, now, draw, nest, leaves }: Moment,
  verdict: Verdict = left(failureOf(nest, leaves)),
): Step => decide(policyOf(shape), progressOf(before), firstAttemptAt, verdict, now, () => draw)

const progressOf = (before: number): Progress | undefined =>
  before === 0 ? undefined : { attempts: before, lastFailure: expired(1, 0, refused('status')) }

const waits = (after: Step): after is Wait => after._tag === 'Wait'

const curve: fc.Arbitrary<Curve> = fc.record({
  base: fc.oneof(fc.constantFrom(1, 1_000), fc.integer({ min: 1, max: 100_000 })),
  factor: fc.constantFrom(1, 1.5, 2, 3),
  cap: fc.option(fc.oneof(fc.constantFrom(1, 600_000), fc.integer({ min: 1, max: 1_000_000 })), {
    nil: undefined,
  }),
  jitter: fc.constantFrom('none', 'outside the cap', 'inside the cap'),
})

const draw: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(0, ALMOST_ONE, 0.5),
  fc.double({ min: 0, max: ALMOST_ONE, noNaN: true }),
)

/** -1, 0 and 1 mostly; else further away. */
const nearby: fc.Arbitrary<number> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(-1, 0, 1) },
  { weight: 1, arbitrary: fc.integer({ min: -5_000, max: 3_000_000_000 }) },
)

/** Where a limit is placed, and how far beside it. */
interface Aim {
  readonly at: 'due' | 'now' | 'firstAttemptAt'
  readonly offset: number
}

const seed = fc.record({
  curves: fc.array(curve, { maxLength: 3, size: 'max' }),
  retriesLeft: fc.option(fc.constantFrom(-1, 0, 1, 5), { nil: undefined }),
  deadline: fc.option(
    fc.record({ at: fc.constantFrom<Aim['at']>('due', 'due', 'now', 'firstAttemptAt'), offset: nearby }),
    { nil: undefined, freq: 8 },
  ),
  honours: fc.boolean(),
  reversed: fc.boolean(),
  before: fc.oneof(fc.constantFrom(0, 1, 2), fc.nat({ max: 12 })),
  firstAttemptAt: fc.constantFrom(0, 1_767_225_600_000),
  elapsed: fc.oneof(fc.constantFrom(0, 5_000), fc.nat({ max: 20_000_000 })),
  draw,
  nest: fc.constantFrom<Nest>('alone', 'alone', 'each', 'some', 'some of each', 'each of some'),
  leaves: fc.array(
    fc.oneof(
      { weight: 1, arbitrary: fc.constant({ final: true } as const) },
      {
        weight: 3,
        arbitrary: fc.record({
          final: fc.constant(false as const),
          asked: fc.option(fc.record({ at: fc.constantFrom('now', 'backoff', 'deadline'), offset: nearby }), {
            nil: undefined,
            freq: 3,
          }),
        }),
      },
    ),
    { minLength: 1, maxLength: 4, size: 'max' },
  ),
})

/** The deadline is chosen last, when it is known what it should be near to. */
const moment: fc.Arbitrary<Moment> = seed.map((chosen) => {
  const { before, firstAttemptAt, curves, honours, reversed, nest } = chosen
  const now = firstAttemptAt + chosen.elapsed
  const retries = chosen.retriesLeft === undefined ? undefined : Math.max(0, before + chosen.retriesLeft)
  const endless: Shape = { curves, retries, within: undefined, honours, reversed }
  const rested = now + backoffOf(endless, before + 1, chosen.draw)
  const aimed = chosen.deadline
  const places = { due: rested, now, firstAttemptAt }
  const limit = aimed && Math.max(firstAttemptAt + 1, places[aimed.at] + aimed.offset)
  const leaves = chosen.leaves.map((leaf): Leaf => {
    if (leaf.final) return leaf
    const { asked } = leaf
    if (asked === undefined) return { final: false, at: undefined }
    const anchor = { now, backoff: rested, deadline: limit ?? rested }[asked.at]
    return { final: false, at: anchor + asked.offset }
  })
  const shape = { ...endless, within: limit && limit - firstAttemptAt }
  return { shape, before, firstAttemptAt, now, draw: chosen.draw, nest, leaves }
})

const checks: Readonly<Record<string, (step: StepFunction, at: Moment) => void>> = {
  R2: (step, at) => {
    const after = stepAt(step, at)
    if (!waits(after)) return
    holds(after.delay >= 1, 'an attempt without a pause')
    holds(Number.isSafeInteger(after.due), 'a due time that is not whole')
    same(after.delay, after.due - at.now)
  },

  R3: (step, at) => {
    const after = stepAt(step, at)
    if (waits(after)) holds(after.due < expectedOf(at).deadline, 'an attempt at or after the deadline')
  },

  /** Bounds of the backoff, without a deadline and a wish of the receiver that could hide it. */
  R5: (step, at) => {
    const shape = { ...at.shape, within: undefined, retries: undefined }
    const leaves = [{ final: false, at: undefined }] as const
    const delays = [0, at.draw, ALMOST_ONE].map((draw) => {
      const after = stepAt(step, { ...at, shape, leaves, nest: 'alone', draw })
      return waits(after) ? after.delay : NaN
    })
    const most = Math.max(1, ...shape.curves.map((curve) => mostOf(curve, at.before + 1)))
    const fixed = shape.curves.filter((curve) => curve.jitter === 'none')
    const least = Math.max(1, ...fixed.map((curve) => mostOf(curve, at.before + 1)))
    const [atZero = NaN, between = NaN, atOne = NaN] = delays
    same([atZero, atOne], [least, most])
    holds(least <= between && between <= most, `a delay of ${between}, outside ${least} .. ${most}`)
  },

  /** The due time is exactly the later one of the backoff and the wish. */
  R6: (step, at) => {
    const expected = expectedOf(at)
    const after = stepAt(step, at)
    if (waits(after)) same(after.due, expected.due)
    if (expected.retryable && expected.held && expected.due >= expected.deadline) same(after._tag, 'Expire')
  },

  R6because: (step, at) => {
    const after = stepAt(step, at)
    if (!waits(after)) return
    holds(after.because !== '', 'a delay without a reason')
    same(after.because === 'Retry-After', expectedOf(at).held)
  },

  R7success: (step, at) => {
    const receipt = { sink: 'one', status: 200 }
    same(stepAt(step, at, right(receipt)), { _tag: 'Deliver', attempts: at.before + 1, receipt })
  },

  R7final: (step, at) => {
    const final = { ...at, leaves: at.leaves.map(() => ({ final: true }) as const) }
    const failure = failureOf(final.nest, final.leaves)
    same(stepAt(step, final), { _tag: 'Reject', attempts: at.before + 1, failure })
  },

  /** What a retry inside gave up on has ended, and ended in time, not by a refusal. */
  R7expired: (step, at) => {
    const failure = expired(at.before + 3, at.firstAttemptAt, failureOf(at.nest, at.leaves))
    same(stepAt(step, at, left(failure)), { _tag: 'Expire', attempts: failure.attempts, failure })
  },

  R7retryable: (step, at) => {
    const { _tag } = stepAt(step, at)
    same(_tag === 'Wait' || _tag === 'Expire', expectedOf(at).retryable)
  },

  R8: (step, at) => {
    const expected = expectedOf(at)
    const { _tag } = stepAt(step, at)
    if (!expected.retryable) return
    same(_tag === 'Expire', expected.exhausted || expected.due >= expected.deadline)
  },

  /** A whole life, each attempt failing `elapsed` after its start, stays within the counts that the limits allow. */
  R9: (step, at) => {
    const within = Math.min(at.shape.within ?? Infinity, 200)
    const shape = { ...at.shape, within, retries: at.shape.retries ?? 50 }
    const leaves = [{ final: false, at: undefined }] as const
    let life = { ...at, shape, leaves, nest: 'alone', before: 0, now: at.firstAttemptAt } satisfies Moment
    let after = stepAt(step, life)
    let starts = 1
    while (waits(after) && starts < 1_000) {
      starts++
      life = { ...life, before: after.progress.attempts, now: after.due }
      after = stepAt(step, life)
    }
    holds(starts <= 1 + shape.retries, `${starts} attempts, more than the retries allow`)
    holds(starts <= within, `${starts} attempts in ${within} ms`)
    same(after, {
      _tag: 'Expire',
      attempts: starts,
      failure: expired(starts, at.firstAttemptAt, failureOf('alone', leaves)),
    })
  },

  /** Attempts are counted, and what is stored or reported is the failure itself. */
  R10: (step, at) => {
    const after = stepAt(step, at)
    const attempts = at.before + 1
    const failure = failureOf(at.nest, at.leaves)
    if (after._tag === 'Wait') same(after.progress, { attempts, lastFailure: failure })
    if (after._tag === 'Expire') {
      same(after, { _tag: 'Expire', attempts, failure: expired(attempts, at.firstAttemptAt, failure) })
    }
  },

  /** Pure: the same question has the same answer. One draw for a retryable failure, so that a seed replays a world. */
  pure: (step, at) => {
    let draws = 0
    const counted: StepFunction = (policy, progress, firstAttemptAt, verdict, now, random) =>
      step(policy, progress, firstAttemptAt, verdict, now, () => {
        draws++
        return random()
      })
    const [first, drawn] = [stepAt(counted, at), draws]
    same(stepAt(counted, at), first)
    same([drawn, draws], expectedOf(at).retryable ? [1, 2] : [0, 0])
  },
}

/** The laws, over an implementation of `step`. */
const stepLaws = (step: StepFunction): ReadonlyArray<PlainLaw> =>
  Object.entries(checks).map(([id, check]) =>
    law(
      id,
      fc.property(moment, (at) => check(step, at)),
    ),
  )

const momentOfAny = fc.record({
  before: fc.nat({ max: 5 }),
  elapsed: fc.oneof(fc.constantFrom(0, 1, 998, 999), fc.nat({ max: 60_000 })),
  asked: fc.option(fc.oneof(policyTime, fc.nat({ max: 120_000 })), { nil: undefined }),
  draw: fc.oneof(fc.constantFrom(0, ALMOST_ONE), fc.double({ min: 0, max: ALMOST_ONE, noNaN: true })),
})

type AnyMoment = typeof momentOfAny extends fc.Arbitrary<infer T> ? T : never

/** What a policy does in a moment; the words of `because` depend on the order of the parts and are left out. */
const effect = (
  step: StepFunction,
  policy: RetryPolicy,
  { before, elapsed, asked, draw }: AnyMoment,
): Step => {
  const failure = retryable('status', asked === undefined ? {} : { notBefore: asked })
  const after = step(policy, progressOf(before), 0, left(failure), elapsed, () => draw)
  return waits(after) ? { ...after, because: '' } : after
}

const { concat, empty } = Monoid

/** The laws, over an implementation of `step`. */
const combineLaws = (step: StepFunction): ReadonlyArray<PlainLaw> => {
  const equal = (a: RetryPolicy, b: RetryPolicy, moment: AnyMoment): void =>
    same(effect(step, a, moment), effect(step, b, moment))
  const lawOf = (
    id: string,
    check: (a: RetryPolicy, b: RetryPolicy, c: RetryPolicy, moment: AnyMoment) => void,
  ): PlainLaw => law(id, fc.property(policy, policy, policy, momentOfAny, check))
  return [
    lawOf('associative', (a, b, c, moment) =>
      equal(concat(concat(a, b), c), concat(a, concat(b, c)), moment),
    ),
    lawOf('always is the identity', (a, _b, _c, moment) => {
      equal(concat(empty, a), a, moment)
      equal(concat(a, empty), a, moment)
    }),
    lawOf('commutative in effect', (a, b, _c, moment) => equal(concat(a, b), concat(b, a), moment)),
    lawOf('idempotent', (a, _b, _c, moment) => equal(concat(a, a), a, moment)),
    lawOf('the longer delay wins', (a, b, _c, moment) => {
      const [left, right, both] = [a, b, concat(a, b)].map((policy) => effect(step, policy, moment))
      if (!left || !right || !both || !waits(left) || !waits(right) || !waits(both)) return
      // Where only one of the two obeys the receiver, their combination obeys it.
      same(both.delay, Math.max(left.delay, right.delay))
    }),
    lawOf('either may stop', (a, b, _c, moment) => {
      const [left, right, both] = [a, b, concat(a, b)].map((policy) => effect(step, policy, moment)._tag)
      holds(both === 'Expire' || (left === 'Wait' && right === 'Wait'), 'one part stopped, and was not heard')
    }),
    lawOf('jitter of a combination', (a, b, _c, moment) => {
      equal(fullJitter(concat(a, b)), concat(fullJitter(a), fullJitter(b)), moment)
      equal(fullJitter(fullJitter(a)), fullJitter(a), moment)
    }),
    lawOf('limits pass through cap and jitter', (a, _b, _c, moment) => {
      const limits = concat(respectRetryAfter, concat(limitRetries(2), deadline(5_000)))
      equal(capDelay(1)(fullJitter(concat(a, limits))), concat(capDelay(1)(fullJitter(a)), limits), moment)
    }),
  ]
}

export const policyLaws = (implementation: StepFunction): ReadonlyArray<PlainLaw> => [
  ...stepLaws(implementation),
  ...combineLaws(implementation),
]

describe('step', () => it.each(policyLaws(step))('keeps $id', ({ check }) => check()))
