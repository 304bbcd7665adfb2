import { steady } from '../core/clock.ts'
import { checkOptions, func, strict } from '../core/options.ts'
import { callSafely } from '../log/listeners.ts'
import type { LogEvent, Listener } from '../log/logEvent.ts'
import { makeLayer } from './layer.ts'
import type { Layer } from './sink.ts'

/** Where the attempts of a sink are reported. */
export interface ObserverOptions {
  /** Receives `Attempted` and `Defect`. */
  readonly onEvent: Listener
}

const observerOptions = strict({ onEvent: func<Listener>() })

/**
 * Reports every verdict to `onEvent` as `Attempted`, with the time since the start, just before it is passed
 * on. A sink that errors is reported as a `Defect`. If `onEvent` throws, the delivery goes on, and `onEvent`
 * receives that error as a `Defect`, once.
 *
 * Put it inside `withConcurrency`: there it measures the attempt without the wait. Deliveries without room in
 * the queue are reported by the `onEvent` of `withConcurrency`.
 *
 * @throws ConfigError if `onEvent` is not a function.
 *
 * @example
 * import { flow } from 'fp-ts/lib/function.js'
 * import { withConcurrency, withObserver, sink, withTimeout } from 'headrace'
 *
 * const onEvent = console.log
 * const guarded = flow(
 *   withTimeout({ timeout: 5_000 }),
 *   withObserver({ onEvent }),
 *   withConcurrency({ concurrency: 16, onEvent }),
 * )(sink('mine', async () => 'done'))
 */
export const withObserver = (options: ObserverOptions): Layer => {
  const { onEvent } = checkOptions('options of withObserver', observerOptions, options)
  const report = (event: LogEvent): void => callSafely(onEvent, event, onThrown)

  const onThrown = (error: unknown, { _tag, at }: LogEvent): void => {
    if (_tag !== 'Defect') onEvent({ _tag: 'Defect', at, where: 'onEvent', error })
  }

  return (sink) => {
    const { name } = sink
    return makeLayer(sink, (subscribe, clock) => {
      const now = steady(clock)
      return (item, attempt, observer) => {
        const start = clock.monotonic()
        return subscribe(item, attempt, {
          next: (result) => {
            const duration = clock.monotonic() - start
            const { number, until } = attempt
            const at = now()
            const late = at > until ? { late: at - until } : undefined
            report({ _tag: 'Attempted', at, item, sink: name, number, duration, result, ...late })
            observer.next(result)
          },
          complete: () => observer.complete(),
          error: (error) => {
            report({ _tag: 'Defect', at: now(), where: name, error })
            observer.error(error)
          },
        })
      }
    })
  }
}
