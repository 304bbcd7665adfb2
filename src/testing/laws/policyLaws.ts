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

/** A part of a failure: final, retryable, or retryable from a moment on, as `Retry-After` says it. */
type Leaf = 'final' | 'retryable' | number

/** The moment after a failed attempt. */
interface Moment {
  readonly asked: AskedPolicy
  /** Attempts that failed before this one. */
  readonly before: number
  readonly firstAttemptAt: number
  readonly now: number
  readonly draw: number
  /** A failure alone, those of the sinks of a first success or of `toAll`, or those of the members of a batch. */
  readonly nest: 'alone' | 'sinks' | 'all sinks' | 'members'
  readonly leaves: ReadonlyArray<Leaf>
}

/** The largest draw below 1. */
const ALMOST_ONE = 1 - 2 ** -53

/** The longest delay after a number of failures, in whole milliseconds. */
const longestOf = ({ base, factor, maxDelay }: AskedPolicy, failures: number): number =>
  Math.floor(Math.min(base * factor ** (failures - 1), maxDelay ?? Infinity))

const shortestOf = (asked: AskedPolicy, failures: number): number =>
  asked.jitter ? 1 : Math.max(1, longestOf(asked, failures))

const failureOfLeaf = (leaf: Leaf): Failure =>
  leaf === 'final'
    ? refused('status', { status: 404 })
    : retryable('status', leaf === 'retryable' ? { status: 500 } : { status: 429, notBefore: leaf })

const failureOf = ({ nest, leaves }: Pick<Moment, 'nest' | 'leaves'>): Failure => {
  const failures = leaves.map(failureOfLeaf)
  switch (nest) {
    case 'alone':
      return failures[0] ?? refused('status')
    case 'sinks':
      return allFailed(failures.map((failure, at) => ({ sink: `sink ${String(at)}`, failure })))
    case 'all sinks':
      return notAll(failures.map((failure, at) => ({ sink: `sink ${String(at)}`, verdict: left(failure) })))
    case 'members':
      return partlyFailed([right({ sink: 'one' }), ...failures.map((failure) => left(failure))])
  }
}

/** What a moment should lead to, from the moment alone. Its draw is one of the two ends. */
const expectedOf = (moment: Moment) => {
  const { asked, before, firstAttemptAt, now, draw, nest } = moment
  const leaves = nest === 'alone' ? moment.leaves.slice(0, 1) : moment.leaves
  const open = leaves.filter((leaf) => leaf !== 'final')
  const rested =
    now + (draw === 0 ? shortestOf(asked, before + 1) : Math.max(1, longestOf(asked, before + 1)))
  // Several sinks hold back by themselves: before that time an attempt would send nothing.
  const isObeyed = asked.retryAfter || nest === 'sinks' || nest === 'all sinks'
  const wish = isObeyed ? Math.min(...open.map((leaf) => (leaf === 'retryable' ? 0 : leaf))) : 0
  const due = Math.max(rested, open.length === 0 ? 0 : wish)
  const deadline = firstAttemptAt + (asked.within ?? Infinity)
  const isExhausted = before >= (asked.maxRetries ?? Infinity)
  return { isRetryable: open.length > 0, isHeld: due > rested, due, deadline, isExhausted }
}

const nearby = fc.constantFrom(-1, 0, 1)

const anyAsked: fc.Arbitrary<AskedPolicy> = fc.record({
  base: fc.oneof(fc.constantFrom(1, 1_000), fc.integer({ min: 1, max: 5_000 })),
  factor: fc.constantFrom(1, 1.5, 2, 3),
  maxDelay: fc.oneof(fc.constantFrom(1, 600_000, null), fc.integer({ min: 1, max: 100_000 })),
  jitter: fc.boolean(),
  maxRetries: fc.constantFrom(0, 3, 12, 12, null, null, null),
  within: fc.constantFrom(50, 14_400_000, 14_400_000, 14_400_000, null, null),
  retryAfter: fc.boolean(),
})

/** What a leaf of a failure is, or near to what its `Retry-After` falls, and how far beside it. */
const leaf = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom('final', 'retryable') },
  {
    weight: 6,
    arbitrary: fc.tuple(fc.constant('due'), fc.oneof(nearby, fc.integer({ min: 1, max: 60_000 }))),
  },
  fc.tuple(fc.constantFrom('now', 'due', 'deadline'), nearby),
)

/** Moments near their own limits: the due time falls just before, on or just after the deadline. */
const moments = (fixed: Partial<AskedPolicy>): fc.Arbitrary<Moment> =>
  fc
    .record({
      asked: anyAsked.map((asked) => ({ ...asked, ...fixed })),
      count: fc.constantFrom(0, 1, 1, 2, 5, 12),
      firstAttemptAt: fc.constantFrom(0, 1_767_225_600_000),
      elapsed: fc.oneof(
        { weight: 5, arbitrary: fc.tuple(fc.constant('start'), fc.constantFrom(0, 1, 10, 5_000)) },
        { weight: 3, arbitrary: fc.tuple(fc.constant('due'), nearby) },
        fc.tuple(fc.constant('deadline'), nearby),
      ),
      draw: fc.constantFrom(0, ALMOST_ONE),
      nest: fc.constantFrom('alone', 'sinks', 'all sinks', 'members'),
      leaves: fc.array(leaf, { minLength: 1, maxLength: 3, size: 'max' }),
    })
    .map(({ asked, count, elapsed: [from, offset], leaves, ...rest }): Moment => {
      const before = asked.maxRetries === null ? count : Math.max(0, asked.maxRetries - count)
      const within = asked.within ?? 5_000
      const first: Moment = { ...rest, asked, before, now: rest.firstAttemptAt, leaves: ['retryable'] }
      const backoff = expectedOf({ ...first, nest: 'alone' }).due - first.now
      const starts: Readonly<Record<string, number>> = { due: within - backoff, deadline: within }
      const now = first.now + Math.max(0, (starts[from] ?? 0) + offset)
      const places: Readonly<Record<string, number>> = {
        now,
        due: now + backoff,
        deadline: first.now + within,
      }
      const leafOf = (each: (typeof leaves)[number]): Leaf => {
        if (each === 'final' || each === 'retryable') return each
        // A wish of the receiver would hide that the backoff ends at the deadline.
        if (from === 'due') return 'retryable'
        return Math.max(0, (places[each[0]] ?? 0) + each[1])
      }
      return { ...first, now, leaves: leaves.map(leafOf) }
    })

const unless = (isOff: boolean, situation: string): ReadonlyArray<string> => (isOff ? [] : [situation])

/**
 * Laws for a retry policy: it keeps what it promises about delays, retries, deadline and `Retry-After`.
 *
 * @param makePolicy makes the policy that is asked for
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
  /** What the policy says, by default after the failure of the moment. */
  const ask = (
    moment: Moment,
    verdict: Verdict = left(failureOf(moment)),
    random: Random = () => moment.draw,
  ): Step => {
    const { asked, before, firstAttemptAt, now } = moment
    const made = makePolicy(asked)
    const progress = before === 0 ? undefined : { attempts: before, lastFailure: retryable('network') }
    return typeof made === 'function'
      ? made(progress, firstAttemptAt, verdict, now, random)
      : step(made, progress, firstAttemptAt, verdict, now, random)
  }
  return lawsOver('policy', moments(fixed), (moment) => ask(moment), {
    'pause-before-each-attempt': {
      statement: 'Before each attempt there is a pause of at least 1 ms, in whole milliseconds.',
      situations: ['the shortest pause'],
      check: (after, { now }, { reach }) => {
        if (after._tag !== 'Wait') return
        if (after.delay === 1) reach('the shortest pause')
        holds(Number.isSafeInteger(after.due) && after.delay >= 1, `a pause of ${String(after.delay)} ms`)
        same(after.delay, after.due - now)
      },
    },
    'backoff-within-its-bounds': {
      statement: 'A delay grows by its factor up to its maximum, and jitter uses all of it.',
      situations: unless(fixed.maxDelay === null, 'capped').concat(unless(fixed.jitter === false, 'jitter')),
      check: (_, { asked, ...moment }, { reach }) => {
        const free = { ...asked, within: fixed.within ?? null, maxRetries: fixed.maxRetries ?? null }
        const delays = [0, 0.3, ALMOST_ONE].map((draw) => {
          const after = ask({ ...moment, asked: free, leaves: ['retryable'], nest: 'alone', draw })
          return after._tag === 'Wait' ? after.delay : undefined
        })
        const [least, between, most] = delays
        if (least === undefined || between === undefined || most === undefined) return
        const failures = moment.before + 1
        if (most === asked.maxDelay) reach('capped')
        if (least < most) reach('jitter')
        same([least, most], [shortestOf(asked, failures), Math.max(1, longestOf(asked, failures))])
        holds(least <= between && between <= most, `a delay of ${String(between)} ms`)
      },
    },
    'due-when-both-allow-it': {
      statement:
        'The next attempt is due after the backoff, or later if the receiver wants it, and then names `Retry-After` as its reason.',
      situations: ['held by Retry-After', 'Retry-After before the end of the backoff'],
      check: (after, moment, { reach }) => {
        const { isHeld, due } = expectedOf(moment)
        if (after._tag !== 'Wait') return
        if (isHeld) reach('held by Retry-After')
        else if (moment.leaves.some((leaf) => typeof leaf === 'number'))
          reach('Retry-After before the end of the backoff')
        holds(after.because !== '', 'a delay without a reason')
        same([after.due, after.because === 'Retry-After'], [due, isHeld])
      },
    },
    'verdict-decides': {
      statement:
        'A success is delivered, what a retry inside gave up on expires, a final failure is rejected; with a retryable part it is not.',
      situations: ['a final and a retryable part'],
      check: (after, moment, { reach }) => {
        const { before, firstAttemptAt, nest, leaves } = moment
        const attempts = before + 1
        const receipt = { sink: 'one', status: 200 }
        same(ask(moment, right(receipt)), { _tag: 'Deliver', attempts, receipt })
        const inner = expired(before + 3, firstAttemptAt, failureOf(moment))
        same(ask(moment, left(inner)), { _tag: 'Expire', attempts: before + 3, failure: inner })
        const final: Moment = { ...moment, leaves: leaves.map(() => 'final') }
        same(ask(final), { _tag: 'Reject', attempts, failure: failureOf(final) })
        const { isRetryable } = expectedOf(moment)
        if (isRetryable && nest !== 'alone' && leaves.includes('final')) reach('a final and a retryable part')
        same(after._tag === 'Reject', !isRetryable)
      },
    },
    'gives-up-in-time': {
      statement:
        'It gives up when the next attempt would be at the deadline or later, or one too many; never before.',
      situations: unless(fixed.maxRetries === null, 'no retry left').concat(
        unless(fixed.within === null, 'due close to the deadline'),
      ),
      check: (after, moment, { reach }) => {
        const { isRetryable, isExhausted, due, deadline } = expectedOf(moment)
        if (!isRetryable) return
        if (isExhausted) reach('no retry left')
        else if (Math.abs(due - deadline) <= 1) reach('due close to the deadline')
        same(after._tag, isExhausted || due >= deadline ? 'Expire' : 'Wait')
      },
    },
    'attempts-are-counted': {
      statement: 'Attempts are counted, and what is stored or reported is the last failure itself.',
      situations: ['a second failure', 'expired'],
      check: (after, moment, { reach }) => {
        const attempts = moment.before + 1
        const failure = failureOf(moment)
        if (after._tag === 'Wait') {
          if (attempts > 1) reach('a second failure')
          same(after.progress, { attempts, lastFailure: failure })
        }
        if (after._tag === 'Expire') {
          reach('expired')
          same([after.attempts, after.failure], [attempts, expired(attempts, moment.firstAttemptAt, failure)])
        }
      },
    },
    pure: {
      statement: 'The same question has the same answer, and takes one random number if it is retryable.',
      situations: ['a random number'],
      check: (after, moment, { reach }) => {
        let draws = 0
        const counted = (): number => {
          draws++
          return moment.draw
        }
        same(ask(moment, undefined, counted), after)
        if (draws > 0) reach('a random number')
        same(draws, expectedOf(moment).isRetryable ? 1 : 0)
      },
    },
  })
}
