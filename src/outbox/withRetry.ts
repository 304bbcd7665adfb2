import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { EMPTY, Observable, catchError, expand, filter, map, mergeMap, of } from 'rxjs'
import { messageOf } from '../core/awaitable.ts'
import { steady, systemClock, systemRandom } from '../core/clock.ts'
import type { Clock, Random } from '../core/clock.ts'
import { expired, retryable, wasStarted } from '../core/failure.ts'
import type { Verdict } from '../core/failure.ts'
import { checkOptions, wholeNumber } from '../core/options.ts'
import type { Progress } from '../core/outcome.ts'
import { callSafely } from '../log/listeners.ts'
import type { Listener } from '../log/logEvent.ts'
import { deadlineOf } from '../policy/retryPolicy.ts'
import type { RetryPolicy } from '../policy/retryPolicy.ts'
import { step } from '../policy/step.ts'
import { makeLayer, makeSink, nothingToCancel } from '../sink/layer.ts'
import type { Attempt, Layer, Sink } from '../sink/sink.ts'

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

/** What the next attempt needs. */
interface Retry {
  /** Milliseconds; 0 for the first attempt. */
  readonly delay: number
  readonly firstAttemptAt: number | undefined
  readonly progress: Progress | undefined
}

type Step = Verdict | Retry

const FIRST: Retry = { delay: 0, firstAttemptAt: undefined, progress: undefined }

const isVerdict = (each: Step): each is Verdict => '_tag' in each

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
  const wait = (delay: number): Observable<void> =>
    new Observable((subscriber) =>
      clock.schedule(delay, () => {
        subscriber.next()
        subscriber.complete()
      }),
    )
  const log: Listener = (event) => {
    if (onEvent !== undefined) callSafely(onEvent, event, () => undefined)
  }

  return <A>(inner: Sink<A>): Sink<A> => {
    const { deliver } = makeLayer(inner, (subscribe) => subscribe)
    /** How to close each delivery in flight or waiting. */
    const open = new Set<() => void>()
    let isClosed = false

    /** One attempt: a verdict, or when the next one is due. */
    const attempt = (item: A, outer: Attempt, retry: Retry): Observable<Step> => {
      const { firstAttemptAt, progress } = retry
      const startedAt = firstAttemptAt ?? now()
      const until = Math.min(outer.until, startedAt + window)
      const lastFailure = progress?.lastFailure ?? outer.lastFailure
      const attempts = progress?.attempts ?? 0
      if (now() >= until) return of(left(expired(attempts, startedAt, lastFailure ?? retryable('late'))))
      let hasVerdict = false
      return deliver(item, { number: attempts + 1, until, lastFailure }).pipe(
        catchError((error: unknown) => {
          log({ _tag: 'Defect', at: now(), where: inner.name, error })
          return hasVerdict ? EMPTY : of(left(retryable('defect', { detail: messageOf(error) })))
        }),
        map((verdict) => {
          hasVerdict = true
          return next(item, outer, verdict, startedAt, retry)
        }),
      )
    }

    const next = (item: A, outer: Attempt, verdict: Verdict, startedAt: number, retry: Retry): Step => {
      const at = now()
      // If no request was made in the first attempt, it does not count.
      const isUnstarted = retry.firstAttemptAt === undefined && isLeft(verdict) && !wasStarted(verdict.left)
      const result = step(policy, retry.progress, isUnstarted ? at : startedAt, verdict, at, random)
      if (result._tag === 'Deliver') return right(result.receipt)
      if (result._tag !== 'Wait') return left(result.failure)
      const { delay, because, due, progress } = result
      const { attempts, lastFailure: failure } = progress
      if (due >= outer.until) return left(expired(attempts, startedAt, failure))
      log({ _tag: 'Waiting', at, item, attempts: isUnstarted ? 0 : attempts, failure, delay, because })
      return isUnstarted ? { ...retry, delay } : { delay, firstAttemptAt: startedAt, progress }
    }

    return makeSink<A>(
      inner.name,
      (item, outer, observer) => {
        const endAs = (reason: 'closed' | 'full'): void => {
          observer.next(left(retryable(reason)))
          observer.complete()
        }
        const close = (): void => endAs('closed')
        if (isClosed || open.size >= maxCount) {
          endAs(isClosed ? 'closed' : 'full')
          return nothingToCancel
        }
        open.add(close)
        const subscription = of<Step>(FIRST)
          .pipe(
            expand((each) => {
              if (isVerdict(each)) return EMPTY
              // The first attempt starts at once.
              if (each.delay === 0) return attempt(item, outer, each)
              return wait(each.delay).pipe(mergeMap(() => attempt(item, outer, each)))
            }),
            filter(isVerdict),
          )
          .subscribe(observer)
        return () => {
          open.delete(close)
          subscription.unsubscribe()
        }
      },
      (within) => () => {
        isClosed = true
        for (const close of [...open]) close()
        return inner.close(within)()
      },
    )
  }
}
