import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { steady, systemClock } from '../clock/Clock.ts'
import type { Cancel, Clock } from '../clock/Clock.ts'
import { systemRandom } from '../clock/Random.ts'
import type { Random } from '../clock/Random.ts'
import { whenSettled } from '../internal/Awaitable.ts'
import type { Tell } from '../observe/Happening.ts'
import { expired, refused, retryable } from '../outcome/Failure.ts'
import type { Failure } from '../outcome/Failure.ts'
import type { Outcome } from '../outcome/Outcome.ts'
import type { Verdict } from '../outcome/Verdict.ts'
import type { RetryPolicy } from '../policy/RetryPolicy.ts'
import { fromRun, nothingToCancel, runOf } from '../sink/Run.ts'
import type { Receiver } from '../sink/Run.ts'
import type { Attempt, Sink } from '../sink/Sink.ts'
import { memoryOutbox } from './memoryOutbox.ts'
import { relay } from './relay.ts'

/** How a retrying layer goes about it. */
export interface RetryingOptions {
  /** Default the machine's clock. */
  readonly clock?: Clock
  /** Default the machine's chance. */
  readonly random?: Random
  /** How many deliveries may be under way or waiting; one more fails at once as retryable, `full`. Default 100,000. */
  readonly maxCount?: number
  /** Is told of waits and defects. */
  readonly tell?: Tell
}

/** A delivery that goes through rounds of its own. */
interface Job<A> {
  readonly item: A
  readonly outer: Attempt
  readonly since: number
  readonly receiver: Receiver
  running: number
  verdict: Verdict | undefined
  /** Ends the round under way, for a delivery that was cancelled. */
  cut: () => void
  cancelled: boolean
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
      return left(refused('cancelled'))
  }
}

/**
 * A layer that tries a sink again as a policy says, for nesting and for use outside a stream: the relay of `deliver`, over a
 * memory of its own. Use one of the two, never both around one sink: attempts would multiply.
 *
 * @example
 * import { exponential, both, limitRetries, onlyAttempt, retryable, retrying, sink } from 'headrace'
 * import { left } from 'fp-ts/lib/Either.js'
 *
 * let calls = 0
 * const flaky = sink('flaky', async (_: string) => (++calls < 3 ? left(retryable('busy')) : 'done'))
 * const stubborn = retrying(both(exponential({ base: 1 }), limitRetries(5)))(flaky)
 * stubborn.deliver('hello', onlyAttempt).subscribe((verdict) => {
 *   console.log(verdict._tag, calls) // => Right 3
 * })
 */
export const retrying =
  (
    policy: RetryPolicy,
    { clock = systemClock, random = systemRandom, maxCount = 100_000, tell }: RetryingOptions = {},
  ): (<A>(sink: Sink<A>) => Sink<A>) =>
  <A>(inner: Sink<A>): Sink<A> => {
    const run = runOf(inner)
    const now = steady(clock)

    const rest = (job: Job<A>): void => {
      if (job.verdict !== undefined && job.running === 0 && !job.cancelled) job.receiver.complete()
    }

    const over = (receiver: Receiver, failure: Failure): Cancel => {
      receiver.next(left(failure))
      receiver.complete()
      return nothingToCancel
    }

    const rounds = fromRun<Job<A>>(
      inner.name,
      (job, attempt, receiver) => {
        if (job.cancelled) return over(receiver, refused('cancelled'))
        if (now() >= job.outer.until) {
          const last = attempt.prior ?? retryable('late')
          return over(receiver, expired(attempt.number - 1, job.since, last))
        }
        job.running++
        const ended = (tellRelay: () => void) => (): void => {
          job.running--
          tellRelay()
          rest(job)
        }
        const cancel = run(
          job.item,
          { ...attempt, until: Math.min(attempt.until, job.outer.until) },
          {
            next: receiver.next,
            complete: ended(receiver.complete),
            error: (defect) => {
              ended(() => {
                receiver.error(defect)
              })()
            },
          },
        )
        job.cut = () => {
          cancel()
          over(receiver, refused('cancelled'))
        }
        return cancel
      },
      inner.close,
    )

    const work = relay<Job<A>>({
      sink: rounds,
      outbox: memoryOutbox<Job<A>>({ maxCount, keepDead: 0 }),
      retry: policy,
      clock,
      random,
      inRound: maxCount,
      tell,
      ended: (outcome) => {
        const job = outcome.item
        if (job.cancelled) return
        job.verdict = verdictOf(outcome)
        job.receiver.next(job.verdict)
        rest(job)
      },
    })

    return fromRun<A>(
      inner.name,
      (item, outer, receiver) => {
        const job: Job<A> = {
          item,
          outer,
          since: now(),
          receiver,
          running: 0,
          verdict: undefined,
          cut: nothingToCancel,
          cancelled: false,
        }
        whenSettled(
          work.offer(job),
          (kept) => {
            if (isLeft(kept)) over(receiver, retryable('full'))
          },
          receiver.error,
        )
        return () => {
          if (job.cancelled) return
          job.cancelled = true
          job.cut()
        }
      },
      inner.close,
    )
  }
