import { systemClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import type { Verdict } from '../core/failure.ts'
import { callSafely } from '../log/listeners.ts'
import type { LogEvent, Listener } from '../log/logEvent.ts'
import { makeLayer } from './layer.ts'
import type { Layer } from './sink.ts'

/** Options of `withObserver`. */
export interface ObserverOptions {
  readonly clock?: Clock
  /** Reports only these. Default: both. */
  readonly only?: 'Attempted' | 'UrlSkipped'
}

const isFull = (verdict: Verdict): boolean =>
  verdict._tag === 'Left' && verdict.left._tag === 'Retryable' && verdict.left.reason === 'laneFull'

/**
 * Reports every verdict to `onEvent`, just before it is passed on: `UrlSkipped` when a concurrency limit had no room, else `Attempted`
 * with the time since the start. A sink that errors is reported as a `Defect`. If `onEvent` throws, the delivery goes on, and `onEvent` is
 * given that error as a `Defect`, once.
 *
 * Its place decides what is measured. Inside `withConcurrency` it sees only what was started, and measures the attempt itself;
 * outside it sees what found no room too, but its duration includes the wait. To have both, use it twice.
 *
 * @example
 * import { flow } from 'fp-ts/lib/function.js'
 * import { withConcurrency, withObserver, sink, withTimeout } from 'headrace'
 *
 * const onEvent = console.log
 * const guarded = flow(
 *   withTimeout(5_000),
 *   withObserver(onEvent, { only: 'Attempted' }), // inside the limit: the attempt, without the wait
 *   withConcurrency({ concurrency: 16 }),
 *   withObserver(onEvent, { only: 'UrlSkipped' }), // outside the limit: what found no room
 * )(sink('mine', async () => 'done'))
 */
export const withObserver = (onEvent: Listener, options: ObserverOptions = {}): Layer => {
  const { clock = systemClock, only } = options

  const onThrown = (error: unknown, event: LogEvent): void => {
    if (event._tag !== 'Defect') onEvent({ _tag: 'Defect', at: clock.now(), where: 'onEvent', error })
  }

  return (sink) => {
    const { name } = sink
    return makeLayer(sink, (subscribe) => (item, attempt, observer) => {
      const start = clock.monotonic()
      return subscribe(item, attempt, {
        next: (verdict) => {
          const full = isFull(verdict)
          if (only === undefined || (only === 'UrlSkipped') === full) {
            const { number } = attempt
            const at = clock.now()
            // Two literals: a spread took 3 µs.
            const event: LogEvent = full
              ? { _tag: 'UrlSkipped', at, item, sink: name, number }
              : {
                  _tag: 'Attempted',
                  at,
                  item,
                  sink: name,
                  number,
                  duration: clock.monotonic() - start,
                  result: verdict,
                }
            callSafely(onEvent, event, onThrown)
          }
          observer.next(verdict)
        },
        complete: () => observer.complete(),
        error: (error) => {
          callSafely(onEvent, { _tag: 'Defect', at: clock.now(), where: name, error }, onThrown)
          observer.error(error)
        },
      })
    })
  }
}
