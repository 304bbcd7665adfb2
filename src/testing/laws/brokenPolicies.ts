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

/** Changes the question, and then the answer. */
const deciding =
  (
    question: (...asked: Parameters<Decide>) => Parameters<Decide>,
    answer: (after: Step, asked: Parameters<Decide>) => Step = (after) => after,
  ): MakePolicy =>
  (asked) =>
  (...given) =>
    answer(step(policyFor(asked), ...question(...given)), given)

const answering = (answer: (after: Step, asked: Parameters<Decide>) => Step): MakePolicy =>
  deciding((...given) => given, answer)

const waiting = (change: (delay: number) => number): MakePolicy =>
  answering((after, [, , , now]) => {
    if (after._tag !== 'Wait') return after
    const delay = change(after.delay)
    return { ...after, delay, due: now + delay }
  })

/** Policies with one fault each. */
export const brokenPolicies = {
  'retries without a pause': {
    breaks: 'policy/pause-before-each-attempt',
    make: waiting((delay) => (delay === 1 ? 0 : delay)),
  },
  'waits for fractions of a millisecond': {
    breaks: 'policy/pause-before-each-attempt',
    make: waiting((delay) => delay + 0.5),
  },
  'leaves out the maximum delay': {
    breaks: 'policy/backoff-within-its-bounds',
    make: asking(() => ({ maxDelay: null })),
  },
  'leaves out the jitter': {
    breaks: 'policy/backoff-within-its-bounds',
    make: asking(() => ({ jitter: false })),
  },
  'does not grow': { breaks: 'policy/backoff-within-its-bounds', make: asking(() => ({ factor: 1 })) },
  'ignores Retry-After': {
    breaks: 'policy/due-when-both-allow-it',
    make: asking(() => ({ retryAfter: false })),
  },
  'obeys Retry-After, though it is not asked to': {
    breaks: 'policy/due-when-both-allow-it',
    make: asking(() => ({ retryAfter: true })),
  },
  'names the wrong reason': {
    breaks: 'policy/reason-of-a-delay',
    make: answering((after) => (after._tag === 'Wait' ? { ...after, because: 'backoff' } : after)),
  },
  'does not count the attempt that succeeds': {
    breaks: 'policy/success-delivers',
    make: answering((after) =>
      after._tag === 'Deliver' ? { ...after, attempts: after.attempts - 1 } : after,
    ),
  },
  'retries after a final refusal': {
    breaks: 'policy/final-refusal-ends',
    make: answering((after, [, , , now]) => {
      if (after._tag !== 'Reject') return after
      const progress = { attempts: after.attempts, lastFailure: after.failure }
      return { _tag: 'Wait', due: now + 1, delay: 1, because: 'no', progress }
    }),
  },
  'rejects what a retry inside gave up on': {
    breaks: 'policy/inner-expiry-ends',
    make: answering((after) => (after._tag === 'Expire' ? { ...after, _tag: 'Reject' } : after)),
  },
  'takes one final part for a final failure': {
    breaks: 'policy/one-retryable-part-is-enough',
    make: deciding((progress, first, verdict, ...rest) => {
      const isFinal = isLeft(verdict) && JSON.stringify(verdict).includes('"Refused"')
      return [progress, first, isFinal ? left(refused('status')) : verdict, ...rest]
    }),
  },
  'starts an attempt at the deadline': {
    breaks: 'policy/gives-up-in-time',
    make: asking(({ within }) => ({ within: within === null ? null : within + 1 })),
  },
  'counts the deadline from now': {
    breaks: 'policy/gives-up-in-time',
    make: deciding((progress, _first, verdict, now, random) => [progress, now, verdict, now, random]),
  },
  'allows one retry more': {
    breaks: 'policy/gives-up-in-time',
    make: asking(({ maxRetries }) => ({ maxRetries: maxRetries === null ? null : maxRetries + 1 })),
  },
  'never ends': {
    breaks: 'policy/every-life-ends',
    make: asking(() => ({ within: null, maxRetries: null })),
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
