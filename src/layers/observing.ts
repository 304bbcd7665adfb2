import { type Clock, systemClock } from '../clock/Clock.ts'
import type { Happening, Tell } from '../observe/Happening.ts'
import { isolate } from '../observe/isolate.ts'
import type { Verdict } from '../outcome/Verdict.ts'
import { fromRun, type Receiver, runOf } from '../sink/Run.ts'
import type { Attempt, Layer } from '../sink/Sink.ts'

/** What `observing` takes beside who is told. */
export interface ObservingOptions {
  readonly clock?: Clock
  /** Tells only these. Default: both. */
  readonly only?: 'Attempted' | 'PassedOver'
}

const isLaneFull = (verdict: Verdict): boolean =>
  verdict._tag === 'Left' && verdict.left._tag === 'Retryable' && verdict.left.reason === 'laneFull'

/** A `tell` that throws harms nobody. It is told so, once; at a defect it is not, or it could go on for ever. */
const carefully = (tell: Tell, clock: Clock): Tell => {
  const fail = (error: unknown, happening: Happening): void => {
    if (happening._tag !== 'Defect') tell({ _tag: 'Defect', at: clock.now(), where: 'tell', error })
  }
  return (happening) => {
    isolate(tell, happening, fail)
  }
}

/**
 * Tells of every verdict, just before it is passed on: `PassedOver` when a lane was full, else `Attempted` with the time since
 * the start. A sink that errors is told as a `Defect`. A `tell` that throws changes nothing for the delivery.
 *
 * Where it stands says what is measured. Inside `limiting` it sees only what was started, and measures the attempt itself;
 * outside it sees the full lanes too, but its duration has the wait in the lane in it. To have both, use it twice.
 *
 * @example
 * import { flow } from 'fp-ts/lib/function.js'
 * import { limiting, observing, sink, timingOut } from 'headrace'
 *
 * const tell = console.log
 * const guarded = flow(
 *   timingOut(5_000),
 *   observing(tell, { only: 'Attempted' }), // inside the lane: the attempt, without the wait
 *   limiting({ concurrency: 16 }),
 *   observing(tell, { only: 'PassedOver' }), // outside the lane: what it turned away
 * )(sink('mine', async () => 'done'))
 */
export const observing = (tell: Tell, options: ObservingOptions = {}): Layer => {
  const { clock = systemClock, only } = options
  const say = carefully(tell, clock)

  const happeningOf = (
    sink: string,
    item: unknown,
    { number }: Attempt,
    start: number,
    result: Verdict,
  ): Happening => {
    const at = clock.now()
    return isLaneFull(result)
      ? { _tag: 'PassedOver', at, item, sink, number }
      : { _tag: 'Attempted', at, item, sink, number, duration: clock.monotonic() - start, result }
  }

  const isWanted = (verdict: Verdict): boolean =>
    only === undefined || (only === 'PassedOver') === isLaneFull(verdict)

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
