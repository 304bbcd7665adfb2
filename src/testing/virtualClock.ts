import type { Clock } from '../core/clock.ts'
import { heap } from '../core/heap.ts'

/** The real one, kept from before a test runner could put a fake in its place. */
const nextTurn = setImmediate

/** Where a virtual clock starts, and how long it believes that there is progress. */
export interface VirtualClockOptions {
  /** The wall clock at the start, milliseconds since 1970. Default: 2026-01-01, UTC. */
  readonly start?: number
  /** Timers that one call may run before it fails with an error, for it would never end. Default 1,000,000. */
  readonly most?: number
}

/** A clock that stands still until a test moves it. */
export interface VirtualClock extends Clock {
  /**
   * Moves the time by `ms` and runs what falls due: in the order of time, equal times in the order of scheduling, and also
   * what those timers schedule if it falls due in time. Promise jobs do not run in between: use `advance` where there are any.
   * A timer that throws stops the tick there, at its time, and its error comes out; a later call goes on.
   */
  readonly tick: (ms: number) => void
  /** Like `tick`; and before, between and after the timers every promise job runs, as in a real process. */
  readonly advance: (ms: number) => Promise<void>
  /** Lets every promise job run, and moves nothing. */
  readonly settle: () => Promise<void>
  /** Advances from timer to timer until none is left. `most` as in the clock's options. */
  readonly runAll: (options?: { readonly most?: number }) => Promise<void>
  /** Timers that wait, neither run nor cancelled: 0 says that nothing was left behind. */
  readonly pending: () => number
  /** Steps the wall clock by `shift` milliseconds, as NTP or a person may. Durations and timers notice nothing (webhooks/S43). */
  readonly wall: (shift: number) => void
}

interface Timer {
  readonly due: number
  readonly order: number
  /** Undefined once it ran or was cancelled, so that a kept `Cancel` keeps no task alive. */
  task: (() => void) | undefined
}

interface Timers {
  readonly add: (due: number, task: () => void) => Timer
  readonly cancel: (timer: Timer) => void
  /** The first timer that is due at `target` or before, taken out. */
  readonly takeUntil: (target: number) => Timer | undefined
  /** Puts one that was taken back to its place. */
  readonly putBack: (timer: Timer) => void
  readonly size: () => number
}

/** So many cancelled timers may stay in the heap as empty shells; above it, never more than half of the heap. */
const FEW_SHELLS = 64

const timersByDue = (): Timers => {
  const waiting = heap<Timer>()
  let added = 0
  let shells = 0

  const sweep = (): void => {
    const live = waiting.drain().filter((timer) => timer.task !== undefined)
    // The heap keeps equal times in the order of their push, and draining lost it.
    for (const timer of live.sort((a, b) => a.order - b.order)) waiting.push(timer.due, timer)
    shells = 0
  }

  return {
    add: (due, task) => {
      const timer = { due, order: added++, task }
      waiting.push(due, timer)
      return timer
    },
    cancel: (timer) => {
      if (timer.task === undefined) return
      timer.task = undefined
      shells++
      if (shells > FEW_SHELLS && shells * 2 > waiting.size()) sweep()
    },
    takeUntil: (target) => {
      while ((waiting.peekKey() ?? Infinity) <= target) {
        const timer = waiting.pop()
        if (timer?.task !== undefined) return timer
        shells--
      }
      return undefined
    },
    putBack: (timer) => {
      waiting.push(timer.due, timer)
      sweep()
    },
    size: () => waiting.size() - shells,
  }
}

/** Counts the timers of one call. */
interface Budget {
  readonly most: number
  ran: number
}

const livelock = (most: number): Error =>
  new Error(
    `livelock: ${String(most)} timers ran in one call and more are due; raise \`most\` if that is right`,
  )

/** How far `advance` and `tick` may be told to move. */
const checked = (ms: number): number => {
  if (ms >= 0 && ms < Infinity) return ms
  throw new RangeError(`the time moves forward by a finite number of milliseconds, not by ${String(ms)}`)
}

/** As far as `runAll` goes: a timer at Infinity is never due. */
const ALWAYS = Number.MAX_VALUE

/**
 * A `Clock` for tests: time moves only when it is told to, so four hours of retries play in milliseconds, and play the same
 * way every time. Promises may be in between (`advance`). Nothing global is patched.
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
  const { start = Date.UTC(2026, 0, 1), most = 1_000_000 } = options
  const timers = timersByDue()
  let elapsed = 0
  let shifted = 0

  const moveTo = (time: number): void => {
    elapsed = Math.max(elapsed, time)
  }

  const runNext = (target: number, budget: Budget): boolean => {
    const timer = timers.takeUntil(target)
    if (timer === undefined) return false
    if (budget.ran++ >= budget.most) {
      timers.putBack(timer)
      throw livelock(budget.most)
    }
    const task = timer.task
    timer.task = undefined
    moveTo(timer.due)
    task?.()
    return true
  }

  // Every promise job that can run without I/O or a timer has run when the next turn of the real event loop comes.
  const settle = (): Promise<void> =>
    new Promise((resolve) => {
      nextTurn(resolve)
    })

  const advanceTo = async (target: number, budget: Budget): Promise<void> => {
    do await settle()
    while (runNext(target, budget))
  }

  return {
    now: () => Math.floor(start + shifted + elapsed),
    monotonic: () => elapsed,
    schedule: (delay, task) => {
      const timer = timers.add(elapsed + (delay > 0 ? Math.ceil(delay) : 0), task)
      return () => {
        timers.cancel(timer)
      }
    },
    tick: (ms) => {
      const target = elapsed + checked(ms)
      const budget = { most, ran: 0 }
      while (runNext(target, budget));
      moveTo(target)
    },
    advance: async (ms) => {
      const target = elapsed + checked(ms)
      await advanceTo(target, { most, ran: 0 })
      moveTo(target)
    },
    settle,
    runAll: (call = {}) => advanceTo(ALWAYS, { most: call.most ?? most, ran: 0 }),
    pending: timers.size,
    wall: (shift) => {
      shifted += shift
    },
  }
}
