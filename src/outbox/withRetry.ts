import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { messageOf } from '../core/awaitable.ts'
import { steady, systemClock, systemRandom } from '../core/clock.ts'
import type { Cancel, Clock, Random } from '../core/clock.ts'
import { expired, retryable, wasStarted } from '../core/failure.ts'
import type { Verdict } from '../core/failure.ts'
import { wholeNumber } from '../core/json.ts'
import type { Progress } from '../core/outcome.ts'
import { callSafely } from '../log/listeners.ts'
import type { Listener } from '../log/logEvent.ts'
import { deadlineOf } from '../policy/retryPolicy.ts'
import type { RetryPolicy } from '../policy/retryPolicy.ts'
import { step } from '../policy/step.ts'
import { makeSink, nothingToCancel, subscribeTo } from '../sink/layer.ts'
import type { Subscribe } from '../sink/layer.ts'
import type { Layer, Sink } from '../sink/sink.ts'

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
 * @throws RangeError when `maxCount` is not a whole number from 1.
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
  const { clock = systemClock, random = systemRandom, onEvent } = options
  const maxCount = wholeNumber('withRetry: maxCount', 'items', 1, options.maxCount ?? 100_000)
  const now = steady(clock)
  const window = deadlineOf(policy)
  const log: Listener = (event) => {
    if (onEvent !== undefined) callSafely(onEvent, event, () => undefined)
  }

  return <A>(inner: Sink<A>): Sink<A> => {
    const subscribe = subscribeTo(inner)
    /** Of each delivery in flight or waiting: how it ends when the sink is closed. */
    const open = new Set<() => void>()
    let isClosed = false

    const start: Subscribe<A> = (item, outer, observer) => {
      let firstAttemptAt: number | undefined
      let progress: Progress | undefined
      let hasVerdict = false
      let cancelWait = nothingToCancel
      /** Attempts of which something still runs: a body may be read after the verdict. */
      const running = new Set<{ cancel: Cancel }>()

      const end = (verdict: Verdict): void => {
        hasVerdict = true
        observer.next(verdict)
        if (running.size === 0) observer.complete()
      }
      const close = (): void => {
        observer.next(left(retryable('closed')))
        observer.complete()
      }
      if (isClosed || open.size >= maxCount) {
        end(left(retryable(isClosed ? 'closed' : 'full')))
        return nothingToCancel
      }
      open.add(close)

      const onVerdict = (startedAt: number, verdict: Verdict): void => {
        const at = now()
        // If no request was made in the first attempt, it does not count.
        const isUnstarted = firstAttemptAt === undefined && isLeft(verdict) && !wasStarted(verdict.left)
        const next = step(policy, progress, isUnstarted ? at : startedAt, verdict, at, random)
        if (next._tag === 'Deliver') {
          end(right(next.receipt))
        } else if (next._tag !== 'Wait') {
          end(left(next.failure))
        } else if (next.due >= outer.until) {
          end(left(expired(next.progress.attempts, startedAt, next.progress.lastFailure)))
        } else {
          const { delay, because } = next
          const { attempts, lastFailure: failure } = next.progress
          log({ _tag: 'Waiting', at, item, attempts: isUnstarted ? 0 : attempts, failure, delay, because })
          if (!isUnstarted) {
            firstAttemptAt = startedAt
            progress = next.progress
          }
          cancelWait = clock.schedule(delay, attempt)
        }
      }

      const attempt = (): void => {
        const at = now()
        const startedAt = firstAttemptAt ?? at
        const until = Math.min(outer.until, startedAt + window)
        const lastFailure = progress?.lastFailure ?? outer.lastFailure
        if (at >= until) {
          end(left(expired(progress?.attempts ?? 0, startedAt, lastFailure ?? retryable('late'))))
          return
        }
        const own = { cancel: nothingToCancel }
        let isAnswered = false
        const next = (verdict: Verdict): void => {
          isAnswered = true
          onVerdict(startedAt, verdict)
        }
        const complete = (): void => {
          running.delete(own)
          if (hasVerdict && running.size === 0) observer.complete()
        }
        running.add(own)
        const cancel = subscribe(
          item,
          { number: (progress?.attempts ?? 0) + 1, until, lastFailure },
          {
            next,
            complete,
            error: (error) => {
              log({ _tag: 'Defect', at: now(), where: inner.name, error })
              if (!isAnswered) next(left(retryable('defect', { detail: messageOf(error) })))
              complete()
            },
          },
        )
        // A listener of a verdict that came at once may have cancelled the delivery.
        if (open.has(close)) own.cancel = cancel
        else cancel()
      }

      attempt()
      return () => {
        open.delete(close)
        cancelWait()
        for (const { cancel } of running) cancel()
      }
    }

    return makeSink(inner.name, start, (within) => () => {
      isClosed = true
      for (const close of [...open]) close()
      return inner.close(within)()
    })
  }
}
