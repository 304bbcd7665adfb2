import { isLeft, left } from 'fp-ts/lib/Either.js'
import { refused } from '../../core/failure.ts'
import { always, both, capDelay, deadline, exponential, fullJitter } from '../../policy/retryPolicy.ts'
import { limitRetries, respectRetryAfter, type RetryPolicy } from '../../policy/retryPolicy.ts'
import { step, type Step } from '../../policy/step.ts'
import type { Broken } from './law.ts'
import type { AskedPolicy, Decide, MakePolicy } from './policyLaws.ts'

/** The policy of headrace's parts that keeps what is asked. */
export const policyFor = (asked: AskedPolicy): RetryPolicy => {
  const { base, factor, maxDelay, jitter, maxRetries, within, retryAfter } = asked
  const growing = exponential({ base, factor })
  const capped = maxDelay === null ? growing : capDelay(maxDelay)(growing)
  return [
    ...(maxRetries === null ? [] : [limitRetries(maxRetries)]),
    ...(within === null ? [] : [deadline(within)]),
    retryAfter ? respectRetryAfter : always,
  ].reduce(both, jitter ? fullJitter(capped) : capped)
}

/** Keeps another promise than the one that was asked for. */
const asking =
  (change: (asked: AskedPolicy) => Partial<AskedPolicy>): MakePolicy =>
  (asked) =>
    policyFor({ ...asked, ...change(asked) })

/** Changes the question. */
const deciding =
  (question: (...given: Parameters<Decide>) => Parameters<Decide>): MakePolicy =>
  (asked) =>
  (...given) =>
    step(policyFor(asked), ...question(...given))

/** Changes the answer. */
const answering =
  (answer: (after: Step, given: Parameters<Decide>) => Step): MakePolicy =>
  (asked) =>
  (...given) =>
    answer(step(policyFor(asked), ...given), given)

/** Policies with one fault each. */
export const brokenPolicies = {
  'retries without a pause': {
    breaks: 'policy/pause-before-each-attempt',
    make: answering((after, [, , , now]) =>
      after._tag === 'Wait' && after.delay === 1 ? { ...after, delay: 0, due: now } : after,
    ),
  },
  'leaves out the maximum delay': {
    breaks: 'policy/backoff-within-its-bounds',
    make: asking(() => ({ maxDelay: null })),
  },
  'leaves out the jitter': {
    breaks: 'policy/backoff-within-its-bounds',
    make: asking(() => ({ jitter: false })),
  },
  'ignores Retry-After': {
    breaks: 'policy/due-when-both-allow-it',
    make: asking(() => ({ retryAfter: false })),
  },
  'obeys Retry-After, though it is not asked to': {
    breaks: 'policy/due-when-both-allow-it',
    make: asking(() => ({ retryAfter: true })),
  },
  'names the wrong reason': {
    breaks: 'policy/due-when-both-allow-it',
    make: answering((after) => (after._tag === 'Wait' ? { ...after, because: 'backoff' } : after)),
  },
  'does not count the attempt that succeeds': {
    breaks: 'policy/verdict-decides',
    make: answering((after) =>
      after._tag === 'Deliver' ? { ...after, attempts: after.attempts - 1 } : after,
    ),
  },
  'rejects what a retry inside gave up on': {
    breaks: 'policy/verdict-decides',
    make: answering((after) => (after._tag === 'Expire' ? { ...after, _tag: 'Reject' } : after)),
  },
  'takes one final part for a final failure': {
    breaks: 'policy/verdict-decides',
    make: deciding((progress, first, verdict, ...rest) => {
      const isFinal = isLeft(verdict) && JSON.stringify(verdict).includes('"Refused"')
      return [progress, first, isFinal ? left(refused('status')) : verdict, ...rest]
    }),
  },
  'starts an attempt at the deadline': {
    breaks: 'policy/gives-up-in-time',
    make: asking(({ within }) => ({ within: within === null ? null : within + 1 })),
  },
  'allows one retry more': {
    breaks: 'policy/gives-up-in-time',
    make: asking(({ maxRetries }) => ({ maxRetries: maxRetries === null ? null : maxRetries + 1 })),
  },
  'does not count attempts': {
    breaks: 'policy/attempts-are-counted',
    make: answering((after) =>
      after._tag === 'Wait' ? { ...after, progress: { ...after.progress, attempts: 1 } } : after,
    ),
  },
  'stores the first failure': {
    breaks: 'policy/attempts-are-counted',
    make: answering((after, [progress]) =>
      after._tag === 'Wait' && progress !== undefined
        ? { ...after, progress: { ...after.progress, lastFailure: progress.lastFailure } }
        : after,
    ),
  },
  'takes two random numbers': {
    breaks: 'policy/pure',
    make: deciding((progress, first, verdict, now, random) => {
      random()
      return [progress, first, verdict, now, random]
    }),
  },
} satisfies Record<string, Broken<MakePolicy>>
