import type { Observer } from 'rxjs'
import { systemClock, type Cancel } from '../core/clock.ts'
import { left } from '../core/either.ts'
import { retryable, wasStarted, type Verdict } from '../core/failure.ts'
import { checkOptions, func, strict } from '../core/options.ts'
import { callSafely } from '../log/listeners.ts'
import type { Attempted, LogEvent, Listener } from '../log/logEvent.ts'
import { WithNext, isReporting, makeLayer, subscribeTo, tellsCuts, type Subscribe } from './layer.ts'
import { nowOf, partOf, SHARED, type Attempt, type Layer, type Sink } from './sink.ts'

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
  if (result._tag === 'Left' ? !wasStarted(result.left) : result.right.duplicate) return
  const { number, until } = attempt
  const at = nowOf(attempt, end)
  const startedAt = nowOf(attempt, start)
  const from = partOf(attempt)
  const duration = end - start
  const event: Attempted = { _tag: 'Attempted', at, from, item, sink, number, startedAt, duration, result }
  to(at > until ? { ...event, late: at - until } : event)
}

/** The result of an attempt that was cancelled. */
export const CANCELLED: Verdict = left(
  retryable('cut', { detail: 'it was cancelled before its answer; it may have arrived' }),
)

/** A sink whose attempts are reported. */
export interface Reported<in A> {
  readonly sink: string
  readonly subscribe: Subscribe<A>
  /** A sink inside reports attempts that are cancelled; here it is not known whether one had started. */
  readonly tellsCuts: boolean
}

/** Starts a delivery. If anything listens, it is an `Attempted`, unless a sink inside reported one. */
export const reported = <A>(
  { sink, subscribe, tellsCuts }: Reported<A>,
  item: A,
  attempt: Attempt,
  observer: Observer<Verdict>,
): Cancel => {
  const { report, clock = systemClock, [SHARED]: shared } = attempt
  if (shared !== undefined && !tellsCuts) shared.isStarted = true
  if (report === undefined) return subscribe(item, attempt, observer)
  const start = clock.monotonic()
  let reportedBy: 'nothing' | 'this' | 'inside' = 'nothing'
  const pass = (event: LogEvent): void => {
    if (event._tag === 'Attempted') {
      // A layer inside gave the verdict, and cancels the delivery that it holds.
      if (reportedBy === 'this') return
      reportedBy = 'inside'
    }
    report(event)
  }
  const tell = (result: Verdict): void => {
    if (reportedBy !== 'nothing') return
    reportedBy = 'this'
    tellAttempt(report, attempt, start, clock.monotonic(), { sink, item, result })
  }
  const next = (verdict: Verdict): void => {
    tell(verdict)
    observer.next(verdict)
  }
  const watched = new WithNext(observer, next)
  const cancel = subscribe(item, { ...attempt, report: pass }, watched)
  return () => {
    cancel()
    if (!tellsCuts && !watched.hasFailed) tell(CANCELLED)
  }
}

/** Starts deliveries of a sink, each of them reported. */
export const reportedTo = <A>(sink: Sink<A>): Subscribe<A> => {
  const subscribe = subscribeTo(sink)
  if (isReporting(sink)) return subscribe
  const inner = { sink: sink.name, subscribe, tellsCuts: tellsCuts(sink) }
  return (item, attempt, observer) => reported(inner, item, attempt, observer)
}

/**
 * Gives `onEvent` all that is reported inside, beside the part that makes the attempt: `Attempted` of each
 * sink, just before its verdict is passed on, or when it is cancelled (`cut`), `UrlSkipped` and `Held`. A
 * verdict without a request (`held`, `late`, `queueFull`, `closed`) is no `Attempted`. An error of the sink
 * is a `Defect`. If `onEvent` throws, the delivery goes on, and it receives that error as a `Defect`, once.
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
    const cuts = { tellsCuts: tellsCuts(sink) }
    return makeLayer(sink, (subscribe) => (item, attempt, observer) => {
      const report: Listener = (event) => {
        tell(event)
        attempt.report?.(event)
      }
      const inner = { ...attempt, report }
      return reported({ sink: name, subscribe, ...cuts }, item, inner, {
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
