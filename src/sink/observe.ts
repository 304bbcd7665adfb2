import type { Observer } from 'rxjs'
import { systemClock, type Cancel } from '../core/clock.ts'
import { wasStarted, type Verdict } from '../core/failure.ts'
import { checkOptions, func, strict } from '../core/options.ts'
import { callSafely } from '../log/listeners.ts'
import type { Attempted, LogEvent, Listener } from '../log/logEvent.ts'
import { WithNext, makeLayer, subscribeTo, type Subscribe } from './layer.ts'
import { nowOf, partOf, type Attempt, type Layer, type Sink } from './sink.ts'

/** Where the attempts of a sink are reported. */
export interface ObserverOptions {
  /** Receives all that is reported inside, and `Defect`. */
  readonly onEvent: Listener
}

const observerOptions = strict({ onEvent: func<Listener>() })

type Tried = Pick<Attempted, 'sink' | 'item' | 'result'>

/** Reports an attempt that ran between two readings of its clock, if it was started. */
export const tellAttempt = (to: Listener, attempt: Attempt, start: number, end: number, of: Tried): void => {
  const { sink, item, result } = of
  if (result._tag === 'Left' && !wasStarted(result.left)) return
  const { number, until } = attempt
  const at = nowOf(attempt, end)
  const startedAt = nowOf(attempt, start)
  const from = partOf(attempt)
  const duration = end - start
  const event: Attempted = { _tag: 'Attempted', at, from, item, sink, number, startedAt, duration, result }
  to(at > until ? { ...event, late: at - until } : event)
}

/** Starts a delivery. If anything listens, it is an `Attempted`, unless a sink inside reported one. */
export const reported = <A>(
  sink: string,
  subscribe: Subscribe<A>,
  item: A,
  attempt: Attempt,
  observer: Observer<Verdict>,
): Cancel => {
  const { report, clock = systemClock } = attempt
  if (report === undefined) return subscribe(item, attempt, observer)
  let start: number | undefined = clock.monotonic()
  const pass = (event: LogEvent): void => {
    if (event._tag === 'Attempted') start = undefined
    report(event)
  }
  const next = (result: Verdict): void => {
    if (start !== undefined) tellAttempt(report, attempt, start, clock.monotonic(), { sink, item, result })
    observer.next(result)
  }
  return subscribe(item, { ...attempt, report: pass }, new WithNext(observer, next))
}

/** The `deliver` of sinks that report each of their attempts: nothing around them needs to look. */
export const reporters = new WeakSet<object>()

export const reporting = <A>(sink: Sink<A>): Sink<A> => {
  reporters.add(sink.deliver)
  return sink
}

/** Starts deliveries of a sink, each of them reported. */
export const reportedTo = <A>(sink: Sink<A>): Subscribe<A> => {
  const subscribe = subscribeTo(sink)
  if (reporters.has(sink.deliver)) return subscribe
  return (item, attempt, observer) => reported(sink.name, subscribe, item, attempt, observer)
}

/**
 * Gives `onEvent` all that is reported inside, beside the part that makes the attempt: `Attempted` of each
 * sink, just before its verdict is passed on, `UrlSkipped` and `Held`. A verdict without a request (`held`,
 * `late`, `queueFull`, `closed`) is no `Attempted`. An error of the sink is a `Defect`. If `onEvent` throws,
 * the delivery goes on, and `onEvent` receives that error as a `Defect`, once.
 *
 * `deliver`, destinations and clients report the same without it.
 *
 * @throws ConfigError if `onEvent` is not a function.
 *
 * @example
 * import { flow } from 'fp-ts/lib/function.js'
 * import { withConcurrency, withObserver, sink, withTimeout } from 'headrace'
 *
 * const guarded = flow(
 *   withTimeout({ timeout: 5_000 }),
 *   withConcurrency({ concurrency: 16 }),
 *   withObserver({ onEvent: console.log }),
 * )(sink('mine', async () => 'done'))
 */
export const withObserver = (options: ObserverOptions): Layer => {
  const { onEvent } = checkOptions('options of withObserver', observerOptions, options)
  const tell = (event: LogEvent): void => callSafely(onEvent, event, onThrown)

  const onThrown = (error: unknown, { _tag, at, from }: LogEvent): void => {
    if (_tag !== 'Defect') onEvent({ _tag: 'Defect', at, from, where: 'onEvent', error })
  }

  return (sink) => {
    const { name } = sink
    return makeLayer(sink, (subscribe) => (item, attempt, observer) => {
      const report: Listener = (event) => {
        tell(event)
        attempt.report?.(event)
      }
      const inner = { ...attempt, report }
      return reported(name, subscribe, item, inner, {
        next: (verdict) => observer.next(verdict),
        complete: () => observer.complete(),
        error: (error) => {
          // The part that receives the error reports it too.
          tell({ _tag: 'Defect', at: nowOf(attempt), from: partOf(attempt), where: name, error })
          observer.error(error)
        },
      })
    })
  }
}
