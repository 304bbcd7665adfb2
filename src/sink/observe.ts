import { systemClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import type { Verdict } from '../core/failure.ts'
import { isolate } from '../log/listeners.ts'
import type { LogEvent, Listener } from '../log/logEvent.ts'
import { fromRun, runOf } from './layer.ts'
import type { Receiver } from './layer.ts'
import type { Attempt, Layer } from './sink.ts'

/** What `withObserver` takes beside who is told. */
export interface ObserverOptions {
  readonly clock?: Clock
  /** Tells only these. Default: both. */
  readonly only?: 'Attempted' | 'UrlSkipped'
}

const isLaneFull = (verdict: Verdict): boolean =>
  verdict._tag === 'Left' && verdict.left._tag === 'Retryable' && verdict.left.reason === 'laneFull'

/** A `onEvent` that throws harms nobody. It is told so, once; at a defect it is not, or it could go on for ever. */
const carefully = (onEvent: Listener, clock: Clock): Listener => {
  const fail = (error: unknown, happening: LogEvent): void => {
    if (happening._tag !== 'Defect') onEvent({ _tag: 'Defect', at: clock.now(), where: 'tell', error })
  }
  return (happening) => {
    isolate(onEvent, happening, fail)
  }
}

/**
 * Tells of every verdict, just before it is passed on: `UrlSkipped` when a lane was full, else `Attempted` with the time since
 * the start. A sink that errors is told as a `Defect`. A `onEvent` that throws changes nothing for the delivery.
 *
 * Where it stands says what is measured. Inside `withConcurrency` it sees only what was started, and measures the attempt itself;
 * outside it sees the full lanes too, but its duration has the wait in the lane in it. To have both, use it twice.
 *
 * @example
 * import { flow } from 'fp-ts/lib/function.js'
 * import { withConcurrency, withObserver, sink, withTimeout } from 'headrace'
 *
 * const tell = console.log
 * const guarded = flow(
 *   withTimeout(5_000),
 *   withObserver(tell, { only: 'Attempted' }), // inside the lane: the attempt, without the wait
 *   withConcurrency({ concurrency: 16 }),
 *   withObserver(tell, { only: 'UrlSkipped' }), // outside the lane: what it turned away
 * )(sink('mine', async () => 'done'))
 */
export const withObserver = (onEvent: Listener, options: ObserverOptions = {}): Layer => {
  const { clock = systemClock, only } = options
  const say = carefully(onEvent, clock)

  const happeningOf = (
    sink: string,
    item: unknown,
    { number }: Attempt,
    start: number,
    result: Verdict,
  ): LogEvent => {
    const at = clock.now()
    return isLaneFull(result)
      ? { _tag: 'UrlSkipped', at, item, sink, number }
      : { _tag: 'Attempted', at, item, sink, number, duration: clock.monotonic() - start, result }
  }

  const isWanted = (verdict: Verdict): boolean =>
    only === undefined || (only === 'UrlSkipped') === isLaneFull(verdict)

  return (sink) => {
    const runInner = runOf(sink)
    return fromRun(
      sink.name,
      (item, attempt, receiver) => {
        const start = clock.monotonic()
        // Who is told may cancel this very delivery, so it is looked at again after each `say`.
        let to: Receiver | undefined = receiver
        const cancel = runInner(item, attempt, {
          next: (verdict) => {
            if (isWanted(verdict)) say(happeningOf(sink.name, item, attempt, start, verdict))
            to?.next(verdict)
          },
          complete: () => {
            to?.complete()
          },
          error: (error) => {
            say({ _tag: 'Defect', at: clock.now(), where: sink.name, error })
            to?.error(error)
          },
        })
        return () => {
          to = undefined
          cancel()
        }
      },
      sink.close,
    )
  }
}
