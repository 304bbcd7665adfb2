/**
 * The laws of `step`: pipelines/R1 to R10 as DE4 and DE5 have them. Not here, because they are about who obeys the step: R1
 * (the first attempt is not delayed), R11 (isolation), R12 (abort) and R13 (the wall clock) are laws of the relay, and R4 gave
 * way to DE4 (an attempt that runs may finish).
 */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { expired } from '../../src/core/failure.ts'
import { holds, law, same } from './policyLaw.ts'
import type { Law } from './policyLaw.ts'
import { moment } from './policyMoments.ts'
import {
  ALMOST_ONE,
  expectedOf,
  failureOf,
  mostOf,
  policyOf,
  progressOf,
  stepAt,
  waits,
} from './policyWorlds.ts'
import type { Moment, StepFunction } from './policyWorlds.ts'

type Check = (step: StepFunction, moment: Moment) => void

const R2: Check = (step, at) => {
  const after = stepAt(step, at)
  if (!waits(after)) return
  holds(after.delay >= 1, 'an attempt without a pause')
  holds(Number.isSafeInteger(after.due), 'a due time that is not whole')
  same(after.delay, after.due - at.now)
}

const R3: Check = (step, at) => {
  const after = stepAt(step, at)
  if (waits(after)) holds(after.due < expectedOf(at).deadline, 'an attempt at or after the deadline')
}

/** Bounds of the backoff, without a deadline and a wish of the receiver that could hide it. */
const R5: Check = (step, at) => {
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
}

/** The due time is exactly the later one of the backoff and the wish. */
const R6: Check = (step, at) => {
  const expected = expectedOf(at)
  const after = stepAt(step, at)
  if (waits(after)) same(after.due, expected.due)
  if (expected.retryable && expected.held && expected.due >= expected.deadline) same(after._tag, 'Expire')
}

const R6because: Check = (step, at) => {
  const after = stepAt(step, at)
  if (!waits(after)) return
  holds(after.because !== '', 'a delay without a reason')
  same(after.because === 'Retry-After', expectedOf(at).held)
}

const R7success: Check = (step, at) => {
  const receipt = { sink: 'one', status: 200 }
  const after = step(
    policyOf(at.shape),
    progressOf(at.before),
    at.firstAttemptAt,
    right(receipt),
    at.now,
    () => at.draw,
  )
  same(after, { _tag: 'Deliver', attempts: at.before + 1, receipt })
}

const R7final: Check = (step, at) => {
  const final = { ...at, leaves: at.leaves.map(() => ({ final: true }) as const) }
  const failure = failureOf(final.nest, final.leaves)
  same(stepAt(step, final), { _tag: 'Reject', attempts: at.before + 1, failure })
}

/** What a retry inside gave up on has ended, and ended in time, not by a refusal. */
const R7expired: Check = (step, at) => {
  const failure = expired(at.before + 3, at.firstAttemptAt, failureOf(at.nest, at.leaves))
  const after = step(
    policyOf(at.shape),
    progressOf(at.before),
    at.firstAttemptAt,
    left(failure),
    at.now,
    () => at.draw,
  )
  same(after, { _tag: 'Expire', attempts: failure.attempts, failure })
}

const R7retryable: Check = (step, at) => {
  const { _tag } = stepAt(step, at)
  same(_tag === 'Wait' || _tag === 'Expire', expectedOf(at).retryable)
}

const R8: Check = (step, at) => {
  const expected = expectedOf(at)
  const { _tag } = stepAt(step, at)
  if (!expected.retryable) return
  same(_tag === 'Expire', expected.exhausted || expected.due >= expected.deadline)
}

/** A whole life, each attempt failing `elapsed` after its start, stays within the counts that the limits allow. */
const R9: Check = (step, at) => {
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
}

/** Attempts are counted, and what is stored or reported is the failure itself. */
const R10: Check = (step, at) => {
  const after = stepAt(step, at)
  const attempts = at.before + 1
  const failure = failureOf(at.nest, at.leaves)
  if (after._tag === 'Wait') same(after.progress, { attempts, last: failure })
  if (after._tag === 'Expire') {
    same(after, { _tag: 'Expire', attempts, failure: expired(attempts, at.firstAttemptAt, failure) })
  }
}

/** Pure: the same question has the same answer. One draw for a retryable failure, so that a seed replays a world. */
const pure: Check = (step, at) => {
  let draws = 0
  const counted: StepFunction = (policy, progress, firstAttemptAt, verdict, now, random) =>
    step(policy, progress, firstAttemptAt, verdict, now, () => {
      draws++
      return random()
    })
  const [first, drawn] = [stepAt(counted, at), draws]
  same(stepAt(counted, at), first)
  same([drawn, draws], expectedOf(at).retryable ? [1, 2] : [0, 0])
}

/** The laws, over an implementation of `step`. */
export const stepLaws = (step: StepFunction): ReadonlyArray<Law> =>
  Object.entries({
    R2,
    R3,
    R5,
    R6,
    R6because,
    R7success,
    R7final,
    R7expired,
    R7retryable,
    R8,
    R9,
    R10,
    pure,
  }).map(([id, check]) =>
    law(
      id,
      fc.property(moment, (at) => {
        check(step, at)
      }),
    ),
  )
