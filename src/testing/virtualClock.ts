import type { Task } from 'fp-ts/lib/Task.js'
import type { Cancel, Clock, Random } from '../core/clock.ts'
import { heap } from '../core/heap.ts'

/** The real one, taken before a test runner can replace it. */
const nextTurn = setImmediate

/** Where a virtual clock starts, and how many timers one call may run. */
export interface VirtualClockOptions {
  /** The wall clock at the start, milliseconds since 1970. Default: 2026-01-01, UTC. */
  readonly start?: number
  /** Timers that one call may run before it throws: it would probably never end. Default 1,000,000. */
  readonly maxTimers?: number
  /** Orders timers that are due at the same moment. Default: in the order of scheduling, as a real process does. */
  readonly ties?: Random
}

/** A timer that waits. */
export interface PendingTimer {
  /** The `name` that it was scheduled with, or the name of its function. */
  readonly name: string
  /** When it is due, in milliseconds of `monotonic`. */
  readonly due: number
}

/** A clock that a test moves. */
export interface VirtualClock extends Clock {
  /** As that of any clock. A name tells the timer apart in `timers` and in reports. */
  readonly schedule: (delay: number, task: () => void, name?: string) => Cancel
  /** Resolves `ms` milliseconds from now. */
  readonly sleep: (ms: number, name?: string) => Promise<void>
  /**
   * Moves the time by `ms` and runs what falls due, in the order of time, with what those timers schedule. Promise jobs do not run in
   * between: use `advance` where there are any. A timer that throws stops the tick at its time, with its error; a later call goes on.
   */
  readonly tick: (ms: number) => void
  /** Like `tick`; and before, between and after the timers every promise job runs, as in a real process. */
  readonly advance: (ms: number) => Promise<void>
  /** Lets every promise job run, and moves nothing. */
  readonly settle: () => Promise<void>
  /** Advances from timer to timer until none is left. `maxTimers` as in the clock's options. */
  readonly runAll: (options?: { readonly maxTimers?: number }) => Promise<void>
  /**
   * Moves the time until a promise, or a task of fp-ts, is done, and settles as it does. Rejects with a report of what still waits if it
   * never can: a deadlock, where no timer is left; more than `maxTimers`; or not within `within` milliseconds (default: any time).
   */
  readonly run: <A>(task: Promise<A> | Task<A>, options?: { readonly within?: number }) => Promise<A>
  /** Lets the time stand still in `advance`, `runAll` and `run` until this is done: for a file, a socket, a thread. Answers it. */
  readonly hold: <A>(real: Promise<A>) => Promise<A>
  /** Timers that neither ran nor were cancelled: 0 means that nothing is left. */
  readonly pending: () => number
  /** The same timers, by due time. */
  readonly timers: () => ReadonlyArray<PendingTimer>
  /** Shifts the wall clock by `shift` milliseconds, as NTP may do. Durations and timers do not change. */
  readonly wall: (shift: number) => void
}

interface Timer {
  /** Undefined: that of its task. */
  readonly name: string | undefined
  readonly due: number
  /** When it runs: the due time, and its place among those of the same moment. */
  readonly key: number
  /** Counts timers from 0. */
  readonly number: number
  /** Undefined after it ran or was cancelled, so that a `Cancel` that is kept holds no task. */
  task: (() => void) | undefined
}

/** Ties are broken by less than this, in milliseconds. */
const MOMENT = 2 ** -20
/** Timers that a report names. */
const NAMED = 10

/** What waits, for reports. */
const textOf = (timers: ReadonlyArray<PendingTimer>): string => {
  if (timers.length === 0) return 'no timer waits'
  const named = timers.slice(0, NAMED).map(({ name, due }) => `${name} (at ${String(due)} ms)`)
  const more = timers.length > NAMED ? `, and ${String(timers.length - NAMED)} more` : ''
  return `timers that wait: ${named.join(', ')}${more}`
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
  const { start = Date.UTC(2026, 0, 1), maxTimers = 1_000_000, ties } = options
  const timers = heap<Timer>()
  const held = new Set<Promise<unknown>>()
  let scheduled = 0
  let cancelled = 0
  let elapsed = 0
  let shifted = 0

  const waiting = (): ReadonlyArray<PendingTimer> => {
    const all = [...timers.drain()].sort((one, other) => one.key - other.key || one.number - other.number)
    for (const timer of all) timers.push(timer.key, timer)
    return all.flatMap(({ name, due, task }) =>
      task === undefined ? [] : { name: name ?? (task.name || 'a timer'), due },
    )
  }

  const schedule = (delay: number, task: () => void, name?: string): Cancel => {
    const due = elapsed + (delay > 0 ? Math.ceil(delay) : 0)
    const key = ties === undefined ? due : due + ties() * MOMENT
    const timer: Timer = { due, key, number: scheduled++, name, task }
    timers.push(key, timer)
    return () => {
      if (timer.task !== undefined) cancelled++
      timer.task = undefined
    }
  }

  /** Runs the next timer that is due at `target` or before, as long as one call may run `limit` of them. */
  const runner = (limit: number): ((target: number) => boolean) => {
    let ran = 0
    return (target) => {
      while ((timers.peek()?.due ?? Infinity) <= target) {
        const task = timers.peek()?.task
        if (task !== undefined && ran++ >= limit)
          throw new Error(
            `livelock: ${String(limit)} timers ran in one call and more are due; raise \`maxTimers\` if that is right; ${textOf(waiting())}`,
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

  /** Runs a timer in each turn of the event loop, and lets what is held end before it, until none is due or the task is done. */
  const advanceTo = async (target: number, limit: number, isDone = () => false): Promise<void> => {
    const runNext = runner(limit)
    do {
      await settle()
      while (held.size > 0) {
        await Promise.allSettled(held)
        await settle()
      }
    } while (!isDone() && runNext(target))
  }

  const hold = async <A>(real: Promise<A>): Promise<A> => {
    held.add(real)
    try {
      return await real
    } finally {
      held.delete(real)
    }
  }

  const run = async <A>(task: Promise<A> | Task<A>, { within = Infinity } = {}): Promise<A> => {
    const target = Math.min(elapsed + within, Number.MAX_VALUE)
    const done = typeof task === 'function' ? task() : task
    const ended = new Set<string>()
    const note = (): void => void ended.add('done')
    done.then(note, note)
    await advanceTo(target, maxTimers, () => ended.size > 0)
    if (ended.size > 0) return done
    const why =
      within === Infinity
        ? 'deadlock: the task waits for something that never comes'
        : `the task is not done after ${String(within)} ms`
    throw new Error(`${why}; ${textOf(waiting())}; real input or output has to be in \`hold\``)
  }

  return {
    now: () => Math.floor(start + shifted + elapsed),
    monotonic: () => elapsed,
    schedule,
    sleep: (ms, name = 'sleep') =>
      new Promise((resolve) => {
        schedule(ms, resolve, name)
      }),
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
    run,
    hold,
    // A timer at Infinity is never due.
    runAll: (call = {}) => advanceTo(Number.MAX_VALUE, call.maxTimers ?? maxTimers),
    pending: () => timers.size() - cancelled,
    timers: waiting,
    wall: (shift) => {
      shifted += shift
    },
  }
}
