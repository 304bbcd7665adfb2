import { left, right } from 'fp-ts/lib/Either.js'
import { steady, systemClock, systemRandom } from '../core/clock.ts'
import type { Clock, Random } from '../core/clock.ts'
import { expired, messageOf, retryable } from '../core/failure.ts'
import type { Verdict } from '../core/failure.ts'
import { checkOptions, wholeNumber } from '../core/options.ts'
import { callSafely } from '../log/listeners.ts'
import type { Listener } from '../log/logEvent.ts'
import { deadlineOf } from '../policy/retryPolicy.ts'
import type { RetryPolicy } from '../policy/retryPolicy.ts'
import { makeSink, nothingToCancel, subscribeTo } from '../sink/layer.ts'
import type { Subscribe } from '../sink/layer.ts'
import type { Layer, Sink } from '../sink/sink.ts'
import { decide } from './decide.ts'
import type { Entry } from './outbox.ts'

/** Options of `withRetry`. */
export interface RetryOptions {
  /** Default the system clock. */
  readonly clock?: Clock
  /** Default `Math.random`. */
  readonly random?: Random
  /** The maximum number of deliveries in flight or waiting; one more fails at once as retryable, `full`. Default 100,000. */
  readonly maxCount?: number
  /** Receives `Waiting` and `Defect` log events. */
  readonly onEvent?: Listener
}

/**
 * A layer that retries a sink by a policy, for use outside a stream and for single sinks. Use it or the retries of `deliver`,
 * not both around one sink: attempts would multiply. Cancelling a delivery cancels its wait. After `close` what is in flight or
 * waits fails as retryable, `closed`, and so does whatever comes later.
 *
 * @throws ConfigError when `maxCount` is not a whole number from 1.
 *
 * @example
 * import { exponential, both, limitRetries, onlyAttempt, retryable, withRetry, sink } from 'headrace'
 * import { left } from 'fp-ts/lib/Either.js'
 *
 * let calls = 0
 * const flaky = sink('flaky', async (_: string) => (++calls < 3 ? left(retryable('busy')) : 'done'))
 * const reliable = withRetry(both(exponential({ base: 1 }), limitRetries(5)))(flaky)
 * reliable.deliver('hello', onlyAttempt).subscribe((verdict) => {
 *   console.log(verdict._tag, calls) // => Right 3
 * })
 */
export const withRetry = (policy: RetryPolicy, options: RetryOptions = {}): Layer => {
  const { clock = systemClock, random = systemRandom, maxCount = 100_000, onEvent } = options
  checkOptions('maxCount of withRetry', wholeNumber('items', 1), maxCount)
  const now = steady(clock)
  const window = deadlineOf(policy)
  const log: Listener = (event) => {
    if (onEvent !== undefined) callSafely(onEvent, event, () => undefined)
  }

  return <A>(inner: Sink<A>): Sink<A> => {
    const subscribe = subscribeTo(inner)
    /** How to close each delivery in flight or waiting. */
    const open = new Set<() => void>()
    let isClosed = false

    const start: Subscribe<A> = (item, outer, observer) => {
      let cancelAttempt = nothingToCancel
      let cancelTimer = nothingToCancel
      const end = (verdict: Verdict): void => {
        observer.next(verdict)
        observer.complete()
      }
      const close = (): void => end(left(retryable('closed')))

      const attempt = (entry: Entry<A>): void => {
        const { firstAttemptAt: startedAt = now(), progress } = entry
        const until = Math.min(outer.until, startedAt + window)
        const lastFailure = progress?.lastFailure ?? outer.lastFailure
        const attempts = progress?.attempts ?? 0
        if (now() >= until) {
          end(left(expired(attempts, startedAt, lastFailure ?? retryable('late'))))
          return
        }
        let hasVerdict = false
        let isFinal = false

        const settle = (verdict: Verdict): void => {
          hasVerdict = true
          const at = now()
          const next = decide(policy, entry, startedAt, verdict, at, random)
          if ('outcome' in next) {
            const { outcome } = next
            isFinal = true
            observer.next(outcome._tag === 'Delivered' ? right(outcome.receipt) : left(outcome.failure))
            return
          }
          const { delay, because, due, progress: after } = next.wait
          const failure = after.lastFailure
          if (due >= outer.until) {
            isFinal = true
            observer.next(left(expired(after.attempts, startedAt, failure)))
            return
          }
          log({ _tag: 'Waiting', at, item, attempts: next.attempts, failure, delay, because })
          cancelTimer = clock.schedule(delay, () => {
            cancelAttempt()
            attempt(next.entry)
          })
        }
        const finish = (): void => {
          if (isFinal) observer.complete()
        }

        cancelAttempt = subscribe(
          item,
          { number: attempts + 1, until, lastFailure },
          {
            next: settle,
            complete: finish,
            error: (error) => {
              log({ _tag: 'Defect', at: now(), where: inner.name, error })
              if (!hasVerdict) settle(left(retryable('defect', { detail: messageOf(error) })))
              finish()
            },
          },
        )
      }

      if (isClosed || open.size >= maxCount) {
        end(left(retryable(isClosed ? 'closed' : 'full')))
        return nothingToCancel
      }
      open.add(close)
      attempt({ id: '', item, firstAttemptAt: undefined, progress: undefined })
      return () => {
        open.delete(close)
        cancelTimer()
        cancelAttempt()
      }
    }

    return makeSink<A>(inner.name, start, (within) => () => {
      isClosed = true
      for (const close of [...open]) close()
      return inner.close(within)()
    })
  }
}
