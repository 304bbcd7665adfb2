import type { Clock } from '../core/clock.ts'
import { heap } from '../core/heap.ts'

/** The real one, taken before a test runner can replace it. */
const nextTurn = setImmediate

/** Where a virtual clock starts, and how many timers one call may run. */
export interface VirtualClockOptions {
  /** The wall clock at the start, milliseconds since 1970. Default: 2026-01-01, UTC. */
  readonly start?: number
  /** Timers that one call may run before it throws: it would probably never end. Default 1,000,000. */
  readonly maxTimers?: number
}

/** A clock that a test moves. */
export interface VirtualClock extends Clock {
  /**
   * Moves the time by `ms` and runs what falls due: in the order of time, equal times in the order of scheduling, and also
   * what those timers schedule if it falls due in time. Promise jobs do not run in between: use `advance` where there are any.
   * A timer that throws stops the tick at its time, with its error; a later call goes on.
   */
  readonly tick: (ms: number) => void
  /** Like `tick`; and before, between and after the timers every promise job runs, as in a real process. */
  readonly advance: (ms: number) => Promise<void>
  /** Lets every promise job run, and moves nothing. */
  readonly settle: () => Promise<void>
  /** Advances from timer to timer until none is left. `maxTimers` as in the clock's options. */
  readonly runAll: (options?: { readonly maxTimers?: number }) => Promise<void>
  /** Timers that neither ran nor were cancelled: 0 means that nothing is left. */
  readonly pending: () => number
  /** Shifts the wall clock by `shift` milliseconds, as NTP may do. Durations and timers do not change. */
  readonly wall: (shift: number) => void
}

interface Timer {
  readonly due: number
  /** Undefined after it ran or was cancelled, so that a `Cancel` that is kept holds no task. */
  task: (() => void) | undefined
}

/** How far `advance` and `tick` may move. */
const checked = (ms: number): number => {
  if (ms >= 0 && ms < Infinity) return ms
  throw new RangeError(`the time moves forward by a finite number of milliseconds, not by ${String(ms)}`)
}

/**
 * A `Clock` for tests: time moves only when the test moves it, so four hours of retries take milliseconds and are the same in
 * every run. With promises in between use `advance`. Nothing global is patched.
 *
 * @example
 * import { virtualClock } from 'headrace/testing'
 *
 * const clock = virtualClock()
 * const rang: string[] = []
 * clock.schedule(4 * 3_600_000, () => rang.push('four hours later'))
 * clock.tick(4 * 3_600_000)
 * console.log(rang, clock.pending()) // => [ 'four hours later' ] 0
 */
export const virtualClock = (options: VirtualClockOptions = {}): VirtualClock => {
  const { start = Date.UTC(2026, 0, 1), maxTimers = 1_000_000 } = options
  const timers = heap<Timer>()
  let cancelled = 0
  let elapsed = 0
  let shifted = 0

  const cancel = (timer: Timer): void => {
    if (timer.task === undefined) return
    timer.task = undefined
    cancelled++
  }

  /** Runs the next timer that is due at `target` or before, as long as one call may run `limit` of them. */
  const runner = (limit: number): ((target: number) => boolean) => {
    let ran = 0
    return (target) => {
      while ((timers.peekKey() ?? Infinity) <= target) {
        const task = timers.peek()?.task
        if (task !== undefined && ran++ >= limit)
          throw new Error(
            `livelock: ${String(limit)} timers ran in one call and more are due; raise \`maxTimers\` if that is right`,
          )
        const timer = timers.pop()
        if (timer === undefined || task === undefined) {
          cancelled--
          continue
        }
        timer.task = undefined
        elapsed = Math.max(elapsed, timer.due)
        task()
        return true
      }
      return false
    }
  }

  // In the next turn of the real event loop every promise job that needs no I/O and no timer has run.
  const settle = (): Promise<void> =>
    new Promise((resolve) => {
      nextTurn(resolve)
    })

  const advanceTo = async (target: number, limit: number): Promise<void> => {
    const runNext = runner(limit)
    do await settle()
    while (runNext(target))
  }

  return {
    now: () => Math.floor(start + shifted + elapsed),
    monotonic: () => elapsed,
    schedule: (delay, task) => {
      const timer: Timer = { due: elapsed + (delay > 0 ? Math.ceil(delay) : 0), task }
      timers.push(timer.due, timer)
      return () => cancel(timer)
    },
    tick: (ms) => {
      const target = elapsed + checked(ms)
      const runNext = runner(maxTimers)
      while (runNext(target));
      elapsed = Math.max(elapsed, target)
    },
    advance: async (ms) => {
      const target = elapsed + checked(ms)
      await advanceTo(target, maxTimers)
      elapsed = Math.max(elapsed, target)
    },
    settle,
    // A timer at Infinity is never due.
    runAll: (call = {}) => advanceTo(Number.MAX_VALUE, call.maxTimers ?? maxTimers),
    pending: () => timers.size() - cancelled,
    wall: (shift) => {
      shifted += shift
    },
  }
}
