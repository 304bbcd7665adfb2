import { left, right } from 'fp-ts/lib/Either.js'
import { EMPTY, Observable, catchError, defer, map, of, retry, throwError } from 'rxjs'
import { steady, systemClock, systemRandom } from '../core/clock.ts'
import type { Cancel, Clock, Random } from '../core/clock.ts'
import { expired, messageOf, retryable, sinkClosed } from '../core/failure.ts'
import type { Verdict } from '../core/failure.ts'
import { checkOptions, clockOption, func, strict, wholeNumber, withDefault } from '../core/options.ts'
import { callSafely } from '../log/listeners.ts'
import type { Listener } from '../log/logEvent.ts'
import { deadlineOf, retryOption } from '../policy/retryPolicy.ts'
import type { RetryPolicy } from '../policy/retryPolicy.ts'
import { answer, makeSink, subscribeTo } from '../sink/layer.ts'
import type { Attempt, Layer, Sink } from '../sink/sink.ts'
import { decide } from './decide.ts'
import { newEntry } from './outbox.ts'

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

const optionsOf = strict({
  clock: withDefault(clockOption, systemClock),
  random: withDefault(func<Random>(), systemRandom),
  maxCount: withDefault(wholeNumber('items', 1), 100_000),
  onEvent: withDefault(func<Listener>(), () => undefined),
})

/** Thrown by an attempt that is to be repeated. */
const AGAIN = new Error('again')

/**
 * A layer that retries a sink by a policy, for use outside a stream and for single sinks. Use it or the retries of `deliver`,
 * not both around one sink: attempts would multiply. Cancelling a delivery cancels its wait. After `close` what is in flight or
 * waits fails as retryable, `closed`, and so does whatever comes later.
 *
 * @throws ConfigError if the policy or an option is wrong.
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
  checkOptions('policy of withRetry', retryOption, policy)
  const { clock, random, maxCount, onEvent } = checkOptions('options of withRetry', optionsOf, options)
  const now = steady(clock)
  const window = deadlineOf(policy)
  const log: Listener = (event) => callSafely(onEvent, event, () => undefined)

  return <A>(inner: Sink<A>): Sink<A> => {
    const subscribe = subscribeTo(inner)
    /** How to end each delivery in flight or waiting. */
    const open = new Set<() => void>()
    let isClosed = false

    const roundsOf = (item: A, outer: Attempt): Observable<Verdict> => {
      let entry = newEntry('', item)
      let delay = 0
      const attempt = defer(() => {
        const { firstAttemptAt: startedAt = now(), progress } = entry
        const attempts = progress?.attempts ?? 0
        const until = Math.min(outer.until, startedAt + window)
        const lastFailure = progress?.lastFailure ?? outer.lastFailure
        if (now() >= until)
          return of(left(expired(attempts, startedAt, lastFailure ?? retryable('late'), 'deadline')))
        let hasVerdict = false
        return new Observable<Verdict>((observer) =>
          subscribe(item, { number: attempts + 1, until, lastFailure, clock }, observer),
        ).pipe(
          catchError((error: unknown) => {
            log({ _tag: 'Defect', at: now(), where: inner.name, error })
            return hasVerdict ? EMPTY : of(left(retryable('defect', { detail: messageOf(error) })))
          }),
          map((verdict): Verdict => {
            hasVerdict = true
            const at = now()
            const next = decide(policy, entry, startedAt, verdict, at, random)
            if ('outcome' in next)
              return next.outcome._tag === 'Delivered'
                ? right(next.outcome.receipt)
                : left(next.outcome.failure)
            const { because, due, progress: after } = next.wait
            const failure = after.lastFailure
            if (due >= outer.until) return left(expired(after.attempts, startedAt, failure, 'deadline'))
            entry = next.entry
            delay = next.wait.delay
            log({ _tag: 'Waiting', at, item, attempts: next.attempts, failure, delay, because })
            throw AGAIN
          }),
        )
      })
      const pause = (thrown: Error): Observable<void> =>
        thrown === AGAIN
          ? new Observable((observer) => clock.schedule(delay, () => observer.next()))
          : throwError(() => thrown)
      return attempt.pipe(retry({ delay: pause }))
    }

    return makeSink<A>(
      inner.name,
      (item, outer, observer) => {
        const end = (): Cancel => answer(observer, left(sinkClosed(inner.name, now())))
        if (isClosed) return end()
        if (open.size >= maxCount) return answer(observer, left(retryable('full')))
        open.add(end)
        const rounds = roundsOf(item, outer).subscribe(observer)
        return () => {
          open.delete(end)
          rounds.unsubscribe()
        }
      },
      (timeout) => {
        isClosed = true
        for (const end of [...open]) end()
        return inner.close({ timeout, clock })
      },
    )
  }
}
