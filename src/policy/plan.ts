import { left } from '../core/either.ts'
import type { Random } from '../core/clock.ts'
import { retryable, type Verdict } from '../core/failure.ts'
import { checkOptions, func, optional, strict, wholeNumber, withDefault } from '../core/options.ts'
import type { Progress } from '../core/outcome.ts'
import type { RetryPolicy } from './retryPolicy.ts'
import { step } from './step.ts'

/** One attempt of a plan. */
export interface PlannedAttempt {
  /** 1 for the first. */
  readonly number: number
  /** When it starts, milliseconds since the start of the first. */
  readonly at: number
  /** Milliseconds since the end of the attempt before; 0 for the first. */
  readonly delay: number
  /** The cause of that delay, in words; `first attempt` for the first. */
  readonly because: string
}

/** The assumptions of a plan. */
export interface PlanOptions {
  /** Jitter draws from it; `() => 0.5` for a delay in the middle. */
  readonly random: Random
  /** How long each attempt takes until it fails, in whole milliseconds. Default 0. */
  readonly duration?: number
  /** The verdict of attempt `number` at `now` ms since the first. Default: each fails and may be retried. */
  readonly verdict?: (number: number, now: number) => Verdict
  /** The end of the list, because some policies have no end. Default 1,000. */
  readonly maxAttempts?: number
}

const planOptions = strict({
  random: func<Random>(),
  duration: withDefault(wholeNumber('ms', 0), 0),
  verdict: optional(func<NonNullable<PlanOptions['verdict']>>()),
  maxAttempts: withDefault(wholeNumber('attempts', 1), 1_000),
})

/**
 * The attempts that a policy would make for an item, until it gives up. The same function decides for real
 * deliveries.
 *
 * @throws ConfigError when an option is wrong or unknown, or `random` is missing.
 * @example
 * import { plan, standard } from 'headrace/policy'
 *
 * const attempts = plan(standard, { duration: 5_000, random: () => 0.5 })
 * console.log(attempts.length) // => 56
 * console.log(attempts[3]?.delay, attempts[3]?.because)
 * // => 2000 exponential from 1s x2, at most 10m, full jitter
 */
export const plan = (policy: RetryPolicy, options: PlanOptions): ReadonlyArray<PlannedAttempt> => {
  const given = checkOptions('plan options', planOptions, options)
  const { random, duration, maxAttempts, verdict = () => left(retryable('network')) } = given
  const attempts: PlannedAttempt[] = [{ number: 1, at: 0, delay: 0, because: 'first attempt' }]
  let progress: Progress | undefined
  let now = duration
  while (attempts.length < maxAttempts) {
    const number = attempts.length
    const after = step(policy, undefined, progress, 0, verdict(number, now), now, random)
    if (after._tag !== 'Wait') break
    attempts.push({ number: number + 1, at: after.due, delay: after.delay, because: after.because })
    progress = after.progress
    now = after.due + duration
  }
  return attempts
}
