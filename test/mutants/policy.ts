/**
 * `step` written a second time, in one piece and with a switch for each mistake that somebody could make. Without a switch it
 * must pass every law, so what kills a mutant is its one mistake.
 */
import { isRight } from 'fp-ts/lib/Either.js'
import { expired, isRetryable } from '../../src/core/failure.ts'
import type { Failure } from '../../src/core/failure.ts'
import type { RetryPolicy } from '../../src/policy/retryPolicy.ts'
import type { StepFunction } from '../laws/policyWorlds.ts'

/** The places where a mutant differs. */
interface Parts {
  readonly combine: (left: number, right: number) => number
  readonly nearest: (left: number, right: number) => number
  readonly grow: (base: number, factor: number, failures: number) => number
  readonly cap: (delay: number, most: number) => number
  readonly jitter: (delay: number, draw: number) => number
  readonly floor: number
  readonly isFinal: (failure: Failure) => boolean
  readonly count: (before: number) => number
  readonly isUsedUp: (attempts: number, retries: number) => boolean
  readonly isOver: (due: number, deadline: number) => boolean
  readonly start: (firstAttemptAt: number, now: number) => number
  readonly dueAt: (rested: number, asked: number, deadline: number, now: number) => number
  readonly honours: (policy: RetryPolicy, failure: Failure) => boolean
  readonly asked: (moments: ReadonlyArray<number>) => number
  readonly because: (rested: number, asked: number) => string
  readonly last: (failure: Failure, before: Failure | undefined) => Failure
  readonly draws: number
  readonly passesExpired: boolean
}

const has = (policy: RetryPolicy): boolean =>
  policy._tag === 'NotBefore' ||
  (policy._tag === 'Both' && (has(policy.left) || has(policy.right))) ||
  ('policy' in policy && has(policy.policy))

const right: Parts = {
  combine: Math.max,
  nearest: Math.min,
  grow: (base, factor, failures) => base * factor ** (failures - 1),
  cap: Math.min,
  jitter: (delay, draw) => Math.floor(draw * (delay + 1)),
  floor: 1,
  isFinal: (failure) => !isRetryable(failure),
  count: (before) => before + 1,
  isUsedUp: (attempts, retries) => attempts > retries,
  isOver: (due, deadline) => due >= deadline,
  start: (firstAttemptAt) => firstAttemptAt,
  dueAt: (rested, asked) => Math.max(rested, asked),
  honours: (policy, failure) => has(policy) || failure._tag === 'AllFailed',
  asked: (moments) => Math.min(...moments),
  because: (rested, asked) => (asked > rested ? 'Retry-After' : 'backoff'),
  last: (failure) => failure,
  draws: 1,
  passesExpired: true,
}

const momentsOf = (failure: Failure): ReadonlyArray<number> => {
  switch (failure._tag) {
    case 'Retryable':
      return [failure.notBefore ?? 0]
    case 'AllFailed':
      return failure.causes.flatMap((cause) => momentsOf(cause.failure))
    case 'PartlyFailed':
      return failure.members.flatMap((member) => (isRight(member) ? [] : momentsOf(member.left)))
    case 'Refused':
    case 'Expired':
      return []
  }
}

const stepWith = (fault: Partial<Parts>): StepFunction => {
  const parts = { ...right, ...fault }

  const delay = (policy: RetryPolicy, failures: number, draw: number | undefined): number => {
    switch (policy._tag) {
      case 'Exponential':
        return Math.min(Math.floor(parts.grow(policy.base, policy.factor, failures)), 1e15)
      case 'CapDelay':
        return parts.cap(delay(policy.policy, failures, draw), policy.most)
      case 'FullJitter': {
        const full = delay(policy.policy, failures, undefined)
        return draw === undefined ? full : parts.jitter(full, draw)
      }
      case 'Both':
        return parts.combine(delay(policy.left, failures, draw), delay(policy.right, failures, draw))
      default:
        return 0
    }
  }

  const limit = (policy: RetryPolicy, of: (leaf: RetryPolicy) => number): number => {
    if (policy._tag === 'Both') return parts.nearest(limit(policy.left, of), limit(policy.right, of))
    return 'policy' in policy ? limit(policy.policy, of) : of(policy)
  }

  return (policy, progress, firstAttemptAt, verdict, now, random) => {
    const attempts = parts.count(progress?.attempts ?? 0)
    if (isRight(verdict)) return { _tag: 'Deliver', attempts, receipt: verdict.right }
    const failure = verdict.left
    if (failure._tag === 'Expired' && parts.passesExpired) {
      return { _tag: 'Expire', attempts: failure.attempts, failure }
    }
    if (parts.isFinal(failure)) return { _tag: 'Reject', attempts, failure }
    let draw = 0
    for (let i = 0; i < parts.draws; i++) draw = random()
    const rested = now + Math.max(parts.floor, delay(policy, attempts, draw))
    const retries = limit(policy, (leaf) => (leaf._tag === 'LimitRetries' ? leaf.most : Infinity))
    const within = limit(policy, (leaf) => (leaf._tag === 'Deadline' ? leaf.within : Infinity))
    const deadline = parts.start(firstAttemptAt, now) + within
    const asked = parts.honours(policy, failure) ? parts.asked(momentsOf(failure)) : 0
    const due = parts.dueAt(rested, asked, deadline, now)
    const last = parts.last(failure, progress?.lastFailure)
    if (parts.isUsedUp(attempts, retries) || parts.isOver(due, deadline)) {
      return { _tag: 'Expire', attempts, failure: expired(attempts, firstAttemptAt, last) }
    }
    const because = parts.because(rested, asked)
    return { _tag: 'Wait', due, delay: due - now, because, progress: { attempts, lastFailure: last } }
  }
}

/** The second writing without a mistake. */
export const rewritten: StepFunction = stepWith({})

/** A mistake, and the law that is there to find it. */
export interface Mutant {
  readonly name: string
  readonly law: string
  readonly step: StepFunction
}

const mutant = (name: string, law: string, fault: Partial<Parts>): Mutant => ({
  name,
  law,
  step: stepWith(fault),
})

/** Every one of them must be killed. */
export const mutants: ReadonlyArray<Mutant> = [
  mutant('starts exactly at the deadline', 'R3', { isOver: (due, deadline) => due > deadline }),
  mutant('clamps the last delay to the deadline', 'R8', {
    dueAt: (rested, asked, deadline, now) => {
      const due = Math.max(rested, asked)
      return due >= deadline && deadline - 1 > now ? deadline - 1 : due
    },
  }),
  mutant('counts the deadline from now', 'R8', { start: (_since, now) => now }),
  mutant('gives up although there was time', 'R8', { isOver: (due, deadline) => due + 1 >= deadline }),
  mutant('gives up when the deadline is an attempt away', 'R8', {
    isOver: (due, deadline) => due + 5_000 >= deadline,
  }),
  mutant('retries after a final refusal', 'R7final', { isFinal: () => false }),
  mutant('takes one final part for a final failure', 'R7retryable', {
    isFinal: (failure) => !isRetryable(failure) || JSON.stringify(failure).includes('"Refused"'),
  }),
  mutant('rejects what a retry inside gave up on', 'R7expired', { passesExpired: false }),
  mutant('ignores Retry-After', 'R6', { honours: () => false }),
  mutant('ignores it after a first success', 'R6', { honours: has }),
  mutant('obeys it against the policy', 'R6', { honours: () => true }),
  mutant('waits for the last URL, not for the earliest', 'R6', { asked: (moments) => Math.max(...moments) }),
  mutant('adds Retry-After to the backoff', 'R6', {
    dueAt: (rested, asked, _deadline, now) => rested + Math.max(0, asked - now),
  }),
  mutant('takes Retry-After instead of the backoff', 'R6', {
    dueAt: (rested, asked, _deadline, now) => (asked > now ? asked : rested),
  }),
  mutant('names the wrong reason', 'R6because', { because: () => 'backoff' }),
  mutant('applies the exponent after the cap', 'R5', {
    cap: (delay) => delay,
    grow: (base, factor, failures) => Math.min(base, 600_000) * factor ** (failures - 1),
  }),
  mutant('begins with the second delay', 'R5', {
    grow: (base, factor, failures) => base * factor ** failures,
  }),
  mutant('jitters above the cap', 'R5', { jitter: (delay, draw) => Math.floor(delay * (0.5 + draw)) }),
  mutant('jitters the upper half only', 'R5', {
    jitter: (delay, draw) => Math.floor((delay * (1 + draw)) / 2),
  }),
  mutant('never draws the longest delay', 'R5', { jitter: (delay, draw) => Math.floor(delay * draw) }),
  mutant('leaves out the jitter', 'R5', { jitter: (delay) => delay }),
  mutant('retries without a pause', 'R2', { floor: 0 }),
  mutant('lets fractions of a millisecond through', 'R2', { jitter: (delay, draw) => delay * draw }),
  mutant('does not count attempts', 'R10', { count: (before) => Math.max(1, before) }),
  mutant('counts from zero', 'R7success', { count: (before) => before }),
  mutant('keeps the first failure', 'R10', { last: (failure, before) => before ?? failure }),
  mutant('allows one retry too many', 'R8', { isUsedUp: (attempts, retries) => attempts > retries + 1 }),
  mutant('allows one retry too few', 'R8', { isUsedUp: (attempts, retries) => attempts >= retries }),
  mutant('never ends', 'R9', { isUsedUp: () => false, isOver: () => false }),
  mutant('draws twice', 'pure', { draws: 2 }),
  mutant('lets the shorter delay win', 'the longer delay wins', { combine: Math.min }),
  mutant('adds the delays', 'idempotent', { combine: (left, right) => left + right }),
  mutant('takes the mean of the delays', 'associative', { combine: (left, right) => (left + right) >> 1 }),
  mutant('hears the left part only', 'commutative in effect', { combine: (left) => left }),
  mutant('takes the furthest limit', 'either may stop', { nearest: Math.max }),
]
