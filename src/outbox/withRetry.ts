import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Task } from 'fp-ts/lib/Task.js'
import { whenSettled } from '../core/awaitable.ts'
import { steady, systemClock, systemRandom } from '../core/clock.ts'
import type { Cancel, Clock, Random } from '../core/clock.ts'
import { expired, refused, retryable } from '../core/failure.ts'
import type { Verdict } from '../core/failure.ts'
import { wholeNumber } from '../core/json.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Listener } from '../log/logEvent.ts'
import type { RetryPolicy } from '../policy/retryPolicy.ts'
import { fromRun, nothingToCancel, runOf } from '../sink/layer.ts'
import type { Receiver } from '../sink/layer.ts'
import type { Attempt, Layer, Sink } from '../sink/sink.ts'
import { jobOutbox } from './jobOutbox.ts'
import { relay } from './relay.ts'

/** How a retrying layer goes about it. */
export interface RetryOptions {
  /** Default the machine's clock. */
  readonly clock?: Clock
  /** Default the machine's chance. */
  readonly random?: Random
  /** How many deliveries may be under way or waiting; one more fails at once as retryable, `full`. Default 100,000. */
  readonly maxCount?: number
  /** Is told of waits and defects. */
  readonly onEvent?: Listener
}

/** A delivery that goes through rounds of its own. */
interface Job<A> {
  readonly item: A
  readonly outer: Attempt
  readonly firstAttemptAt: number
  /** Who is told; undefined when the delivery is over or cancelled. */
  to: Receiver | undefined
  told: boolean
  /** Cuts off each round of which something runs. */
  readonly rounds: Set<Cancel>
}

/** So many cancelled jobs may stand among those that wait; above it, never more than there are others. */
const FEW = 64

const CANCELLED: Verdict = left(refused('cancelled'))
const CLOSED: Verdict = left(retryable('closed'))
const FULL: Verdict = left(retryable('full'))

const over = (receiver: Receiver, verdict: Verdict): Cancel => {
  receiver.next(verdict)
  receiver.complete()
  return nothingToCancel
}

const verdictOf = (outcome: Outcome<unknown>): Verdict => {
  switch (outcome._tag) {
    case 'Delivered':
      return right(outcome.receipt)
    case 'Rejected':
    case 'Expired':
      return left(outcome.failure)
    case 'Dropped':
    case 'Abandoned':
      return CLOSED
  }
}

const completeAtRest = <A>(job: Job<A>): void => {
  if (!job.told || job.rounds.size > 0) return
  const { to } = job
  job.to = undefined
  to?.complete()
}

/** The sink of jobs: one delivery is one round of a job. */
const roundsOf = <A>(inner: Sink<A>, now: () => number): Sink<Job<A>> => {
  const run = runOf(inner)
  return fromRun<Job<A>>(
    inner.name,
    (job, attempt, receiver) => {
      if (job.to === undefined) return over(receiver, CANCELLED)
      const { item, outer } = job
      const lastFailure = attempt.lastFailure ?? outer.lastFailure
      if (now() >= outer.until) {
        return over(
          receiver,
          left(expired(attempt.number - 1, job.firstAttemptAt, lastFailure ?? retryable('late'))),
        )
      }
      const cut = (): void => {
        job.rounds.delete(cut)
        cancel()
        over(receiver, CANCELLED)
      }
      const ended = (onEvent: () => void): void => {
        job.rounds.delete(cut)
        onEvent()
        completeAtRest(job)
      }
      let cancel = nothingToCancel
      job.rounds.add(cut)
      cancel = run(
        item,
        { number: attempt.number, until: Math.min(attempt.until, outer.until), lastFailure },
        {
          next: receiver.next,
          complete: () => {
            ended(receiver.complete)
          },
          error: (defect) => {
            ended(() => {
              receiver.error(defect)
            })
          },
        },
      )
      // It may have been cut off by who heard a verdict that came at once.
      if (!job.rounds.has(cut)) cancel()
      return () => {
        job.rounds.delete(cut)
        cancel()
      }
    },
    inner.close,
  )
}

/**
 * A layer that tries a sink again as a policy says, for nesting and for use outside a stream: the relay of `deliver`, over a
 * memory of its own. Use one of the two, never both around one sink: attempts would multiply. Cancelling a delivery cancels its
 * wait too. After a close what waited or ran, and whatever comes later, fails at once as retryable, `closed`.
 *
 * @throws RangeError when `maxCount` is not a whole number from 1.
 *
 * @example
 * import { exponential, both, limitRetries, onlyAttempt, retryable, withRetry, sink } from 'headrace'
 * import { left } from 'fp-ts/lib/Either.js'
 *
 * let calls = 0
 * const flaky = sink('flaky', async (_: string) => (++calls < 3 ? left(retryable('busy')) : 'done'))
 * const stubborn = withRetry(both(exponential({ base: 1 }), limitRetries(5)))(flaky)
 * stubborn.deliver('hello', onlyAttempt).subscribe((verdict) => {
 *   console.log(verdict._tag, calls) // => Right 3
 * })
 */
export const withRetry = (
  policy: RetryPolicy,
  { clock = systemClock, random = systemRandom, maxCount = 100_000, onEvent }: RetryOptions = {},
): Layer => {
  wholeNumber('withRetry: maxCount', 'items', 1, maxCount)
  const now = steady(clock)

  return <A>(inner: Sink<A>): Sink<A> => {
    const outbox = jobOutbox<Job<A>>(maxCount)
    /** Jobs that somebody waits for, and jobs that nobody does and that may still stand in the outbox. */
    let live = 0
    let gone = 0

    const work = relay<Job<A>>({
      sink: roundsOf(inner, now),
      outbox,
      retry: policy,
      clock,
      random,
      maxInFlight: maxCount,
      onEvent,
      ended: (outcome) => {
        const job = outcome.item
        if (job.to === undefined) return
        live--
        job.told = true
        job.to.next(verdictOf(outcome))
        completeAtRest(job)
      },
    })

    /** Not at each cancel: to go through all that wait, for each of many, would take for ever. */
    const sweep = (): void => {
      if (live > 0 && (gone < FEW || gone < live)) return
      gone = 0
      work.withdrawn(outbox.withdraw((job) => job.to === undefined))
    }

    const cancel = (job: Job<A>): void => {
      if (job.to === undefined) return
      job.to = undefined
      if (!job.told) live--
      for (const cut of [...job.rounds]) cut()
      if (job.told) return
      gone++
      sweep()
    }

    const close = (within: number): Task<void> => {
      work.refuse()
      work.brake(() => undefined)
      return inner.close(within)
    }

    return fromRun<A>(
      inner.name,
      (item, outer, receiver) => {
        const job: Job<A> = {
          item,
          outer,
          firstAttemptAt: now(),
          to: receiver,
          told: false,
          rounds: new Set(),
        }
        live++
        whenSettled(
          work.offer(job),
          (kept) => {
            if (!isLeft(kept)) return
            live--
            job.to = undefined
            over(receiver, kept.left._tag === 'Full' ? FULL : CLOSED)
          },
          receiver.error,
        )
        return () => {
          cancel(job)
        }
      },
      (within) => () => close(within)(),
    )
  }
}
