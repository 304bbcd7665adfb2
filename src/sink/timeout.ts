import type { Observer } from 'rxjs'
import { left } from '../core/either.ts'
import { CATCH_UP, STANDSTILL, perClock, type Cancel, type Clock } from '../core/clock.ts'
import { retryable, type Verdict } from '../core/failure.ts'
import { linkedList, type Link } from '../core/linkedList.ts'
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
    // All have the same time to run, so the oldest is due first: one timer, set for the oldest, is exact.
    const running = linkedList<Running>()
    let disarm: Cancel | undefined
    /** How late the oldest is: by much only if the process stands still, because its timer comes first. */
    const lateness = (): number => clock.monotonic() - (running.oldest()?.start ?? Infinity) - timeout
    /** The timer is late, as each of the machine is: answers that came are read before anything is judged. */
    let isCatchingUp = false

    /** A delivery that runs. A class, because it is made for each one and closures cost more. */
    class Running implements Observer<Verdict>, Link<Running> {
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

      isOver(): boolean {
        return this.start < Infinity && clock.monotonic() - this.start >= timeout
      }

      next(verdict: Verdict): void {
        if (this.isOver() && !isCatchingUp && lateness() <= 0) this.expire()
        else this.observer.next(verdict)
      }

      /** A delivery that completes at once never has a timer. */
      complete(): void {
        this.hasEnded = true
        remove(this)
        this.observer.complete()
      }

      error(defect: unknown): void {
        this.hasEnded = true
        remove(this)
        this.observer.error(defect)
      }

      /** The observer ignores a second verdict, and its end cancels the inner delivery. */
      expire(): void {
        this.observer.next(timedOut)
        this.complete()
      }
    }

    const arm = (): void => {
      const oldest = running.oldest()
      if (disarm !== undefined || oldest === undefined) return
      disarm = oldest.clock.schedule(timeout - (clock.monotonic() - oldest.start), expireAllDue)
    }

    const expireAllDue = (): void => {
      isCatchingUp = !isCatchingUp && lateness() > 0
      const wait = lateness() < STANDSTILL ? 10 : CATCH_UP
      disarm = isCatchingUp ? clock.schedule(wait, expireAllDue) : undefined
      if (isCatchingUp) return
      for (let each = running.oldest(); each?.isOver() === true; each = running.oldest()) each.expire()
      arm()
    }

    const remove = (each: Running): void => {
      if (!running.remove(each) || running.size() > 0 || disarm === undefined) return
      disarm()
      disarm = undefined
      isCatchingUp = false
    }

    return <A>(subscribe: Subscribe<A>): Subscribe<A> =>
      (item, attempt, observer) => {
        const one = new Running(clockOf(attempt), observer)
        const cancel = subscribe(item, attempt, one)
        if (one.hasEnded) return cancel
        one.start = clock.monotonic()
        running.push(one)
        arm()
        return () => {
          remove(one)
          cancel()
        }
      }
  })
  return (sink) => makeLayer(sink, (subscribe, clock) => wrapOn(clock)(subscribe))
}
