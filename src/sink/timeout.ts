import type { Observer } from 'rxjs'
import { left } from '../core/either.ts'
import { perClock, timeLimit, type Clock, type Timed } from '../core/clock.ts'
import { retryable, type Verdict } from '../core/failure.ts'
import { checkOptions, guarded, strict } from '../core/options.ts'
import { makeLayer, type Subscribe } from './layer.ts'
import { clockOf, type Layer } from './sink.ts'

/** How long an attempt may take. */
export interface TimeoutOptions {
  /** Milliseconds from the start of an attempt to its end: above 0, finite. */
  readonly timeout: number
}

const timeoutOptions = strict({
  timeout: guarded(
    'a finite number of milliseconds above 0',
    (value): value is number => typeof value === 'number' && value > 0 && value < Infinity,
  ),
})

/**
 * Gives one attempt `timeout` milliseconds in total, counted from the moment at which the sink has started.
 *
 * Without a verdict by then the verdict is `Retryable('timeout')`; the delivery is cancelled and complete. If
 * the verdict is out but the delivery still runs (a body is drained), it is cancelled and completed at the
 * same moment. A verdict at that very instant comes too late by a virtual clock. By the machine's it counts
 * if it is read before the limit is judged: 10 ms later, 250 ms after a standstill of the process.
 * Give it to each sink of a combination, not to the combination: what some sinks answered in an attempt is
 * lost with it, so the next attempt sends the item again to sinks of `toAll` that took it.
 *
 * @throws ConfigError if `timeout` is not a finite number above 0.
 *
 * @example
 * import { sink, withTimeout } from 'headrace'
 *
 * const patient = withTimeout({ timeout: 5_000 })(sink('slow', async () => 'done'))
 */
export const withTimeout = (options: TimeoutOptions): Layer => {
  const { timeout } = checkOptions('options of withTimeout', timeoutOptions, options)
  const timedOut: Verdict = left(retryable('timeout', { detail: `no verdict within ${String(timeout)} ms` }))

  const wrapOn = perClock((clock) => {
    /** A delivery that runs. A class, because it is made for each one and closures cost more. */
    class Running implements Observer<Verdict>, Timed<Running> {
      older: Running | undefined
      newer: Running | undefined
      /** When its `subscribe` had returned: one that answers at once is never late, and reads no clock. */
      start = Infinity
      hasEnded = false
      /** Of its attempt: its timers may hold the process or not. */
      readonly clock: Clock
      private readonly observer: Observer<Verdict>

      constructor(own: Clock, observer: Observer<Verdict>) {
        this.clock = own
        this.observer = observer
      }

      next(verdict: Verdict): void {
        if (this.start < Infinity && limit.isDue(this)) this.expire()
        else this.observer.next(verdict)
      }

      complete(): void {
        this.hasEnded = true
        limit.remove(this)
        this.observer.complete()
      }

      error(defect: unknown): void {
        this.hasEnded = true
        limit.remove(this)
        this.observer.error(defect)
      }

      /** The observer ignores a second verdict, and its end cancels the inner delivery. */
      expire(): void {
        this.observer.next(timedOut)
        this.complete()
      }
    }

    const limit = timeLimit<Running>(clock, timeout, (each) => each.expire())

    return <A>(subscribe: Subscribe<A>): Subscribe<A> =>
      (item, attempt, observer) => {
        const one = new Running(clockOf(attempt), observer)
        const cancel = subscribe(item, attempt, one)
        if (one.hasEnded) return cancel
        one.start = clock.monotonic()
        limit.add(one)
        return () => {
          limit.remove(one)
          cancel()
        }
      }
  })
  return (sink) => makeLayer(sink, (subscribe, clock) => wrapOn(clock)(subscribe))
}
