import { left } from 'fp-ts/lib/Either.js'
import { map } from 'fp-ts/lib/Record.js'
import { refused } from '../../core/failure.ts'
import { always, both, capDelay, deadline, exponential, fullJitter } from '../../policy/retryPolicy.ts'
import { limitRetries, respectRetryAfter, type RetryPolicy } from '../../policy/retryPolicy.ts'
import { step, type Step, type Wait } from '../../policy/step.ts'
import type { AskedPolicy, Decide, MakePolicy } from './policyLaws.ts'

/** The policy of headrace's parts that keeps what is asked. */
export const policyFor = (asked: AskedPolicy): RetryPolicy => {
  const { base, factor, maxDelay, jitter, maxRetries, within, retryAfter } = asked
  const growing = exponential({ base, factor })
  const capped = maxDelay === null ? growing : capDelay(maxDelay)(growing)
  return [
    maxRetries === null ? always : limitRetries(maxRetries),
    within === null ? always : deadline(within),
    retryAfter ? respectRetryAfter : always,
  ].reduce(both, jitter ? fullJitter(capped) : capped)
}

/** Keeps another promise than the one that was asked for. */
const asking =
  (change: (asked: AskedPolicy) => Partial<AskedPolicy>): MakePolicy =>
  (asked) =>
    policyFor({ ...asked, ...change(asked) })

/** Asks the right decision, and changes question or answer. */
const deciding =
  (decide: (ask: Decide, ...given: Parameters<Decide>) => Step): MakePolicy =>
  (asked) =>
  (...given) =>
    decide((...question) => step(policyFor(asked), ...question), ...given)

const answering = (change: (after: Step) => Step): MakePolicy =>
  deciding((ask, ...given) => change(ask(...given)))

/** Changes the answer if it is to wait. */
const waiting = (change: (after: Wait) => Partial<Wait>): MakePolicy =>
  answering((after) => (after._tag === 'Wait' ? { ...after, ...change(after) } : after))

const final = refused('status')

/** Faults that this law finds. */
const breaks = <Name extends string>(law: string, faults: Readonly<Record<Name, MakePolicy>>) =>
  map((make: MakePolicy) => ({ breaks: `policy/${law}`, make }))(faults)

/** Policies with one fault each. */
export const brokenPolicies = {
  ...breaks('pause-before-each-attempt', {
    'retries without a pause': waiting(({ delay, due }) => (delay > 1 ? {} : { delay: 0, due: due - 1 })),
  }),
  ...breaks('backoff-within-its-bounds', {
    'leaves out the maximum delay': asking(() => ({ maxDelay: null })),
    'draws the jitter before it caps the delay': (asked) => {
      const { maxDelay } = asked
      const uncapped = policyFor({ ...asked, maxDelay: null })
      return maxDelay === null ? uncapped : capDelay(maxDelay)(uncapped)
    },
    'leaves out the jitter': asking(() => ({ jitter: false })),
  }),
  ...breaks('due-when-both-allow-it', {
    'ignores Retry-After': asking(() => ({ retryAfter: false })),
    'obeys Retry-After, though it is not asked to': asking(() => ({ retryAfter: true })),
    'names the wrong reason': waiting(() => ({ because: 'backoff' })),
  }),
  ...breaks('verdict-decides', {
    'rejects what a retry inside gave up on': answering((after) =>
      after._tag === 'Expire' ? { ...after, _tag: 'Reject' } : after,
    ),
    'takes a 429 for a final failure': deciding((ask, progress, first, verdict, ...rest) =>
      ask(progress, first, JSON.stringify(verdict).includes('429') ? left(final) : verdict, ...rest),
    ),
    'takes one final part for a final failure': deciding((ask, progress, first, verdict, ...rest) =>
      ask(progress, first, JSON.stringify(verdict).includes('"Refused"') ? left(final) : verdict, ...rest),
    ),
  }),
  ...breaks('gives-up-in-time', {
    'starts an attempt at the deadline': asking(({ within }) => ({ within: within && within + 1 })),
    'allows one retry more': asking(({ maxRetries: most }) => ({
      maxRetries: most === null ? most : most + 1,
    })),
  }),
  ...breaks('attempts-are-counted', {
    'does not count attempts': deciding((ask, _, ...rest) => ask(undefined, ...rest)),
    'stores another failure': waiting(({ progress }) => ({ progress: { ...progress, lastFailure: final } })),
  }),
  ...breaks('pure', {
    'takes two random numbers': deciding((ask, progress, first, verdict, now, random) =>
      ask(progress, first, verdict, now, () => Math.max(random(), random())),
    ),
  }),
}
