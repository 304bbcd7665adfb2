/** What becomes of an entry: the one place where a verdict turns into an outcome or a retry. @module */
import type { Random } from '../core/clock.ts'
import { expired, wasStarted, type Receipt, type Verdict } from '../core/failure.ts'
import { expired as expiredOutcome, delivered } from '../core/outcome.ts'
import type { RetryPolicy } from '../policy/retryPolicy.ts'
import { step, type Wait } from '../policy/step.ts'
import { CUT, type Ack, type Entry } from './outbox.ts'

export const deliveredEnd = <A>(entry: Entry<A>, receipt: Receipt): Ack<A> => ({
  entry,
  outcome: delivered(entry.item, (entry.progress?.attempts ?? 0) + 1, receipt),
})

/**
 * The end of an entry; or its wait, with its new progress and its attempts that started a request.
 * `startedAt`: when this attempt started, if it was the first one.
 */
export const decide = <A>(
  retry: RetryPolicy,
  entry: Entry<A>,
  startedAt: number,
  verdict: Verdict,
  at: number,
  random: Random,
): Ack<A> | { readonly entry: Entry<A>; readonly wait: Wait; readonly attempts: number } => {
  const { id, item, progress } = entry
  // An attempt without a request is not counted, and before the first request no limit counts.
  const isHeld = verdict._tag === 'Left' && !wasStarted(verdict.left)
  const isUnstarted = isHeld && entry.firstAttemptAt === undefined
  const firstAttemptAt = isUnstarted ? Infinity : (entry.firstAttemptAt ?? startedAt)
  const past = isHeld && progress !== undefined ? { ...progress, attempts: progress.attempts - 1 } : progress
  const next = step(retry, item, past, firstAttemptAt, verdict, at, random)
  // What holds an item back says nothing of how its last attempt failed.
  const kept = isHeld && progress !== undefined ? { lastFailure: progress.lastFailure } : undefined
  if (next._tag === 'Expired') return { entry, outcome: { ...next, failure: { ...next.failure, ...kept } } }
  if (next._tag !== 'Wait') return { entry, outcome: next }
  if (isUnstarted) return { entry, wait: next, attempts: 0 }
  const again = { id, item, firstAttemptAt, progress: { ...next.progress, ...kept } }
  return { entry: again, wait: next, attempts: next.progress.attempts }
}

/** The end of an entry that is past its deadline, after a pause or a restart; undefined if it is not. */
export const lateEnd = <A>(entry: Entry<A>, at: number, window: number) => {
  const { item, firstAttemptAt } = entry
  if (firstAttemptAt === undefined || at < firstAttemptAt + window) return undefined
  const { attempts, lastFailure } = entry.progress ?? { attempts: 1, lastFailure: CUT }
  const failure = expired(attempts, firstAttemptAt, lastFailure, 'deadline')
  return { entry, outcome: expiredOutcome(item, failure) }
}
