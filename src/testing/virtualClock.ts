import { AsyncResource } from 'node:async_hooks'
import { setImmediate } from 'node:timers'
import type { Task } from 'fp-ts/lib/Task.js'
import type { Cancel, Clock, Random } from '../core/clock.ts'
import { heap } from '../core/heap.ts'
import { func, checkOptions, limit, optional, strict, wholeNumber, withDefault } from '../core/options.ts'

/** Of the module, because a test runner replaces the global one, Jest also before this is loaded. */
export const realImmediate = setImmediate

/** Where a virtual clock starts, and how many timers one call may run. */
export interface VirtualClockOptions {
  /** The wall clock at the start, milliseconds since 1970. Default: 2026-01-01, UTC. */
  readonly start?: number
  /** Timers that one call may run before it throws: it would probably never end. Default 1,000,000. */
  readonly maxTimers?: number
  /** Orders timers that are due at the same moment. Default: as scheduled, like a real process. */
  readonly ties?: Random
}

/** A waiting timer: its name, or that of its function, and its due time in milliseconds of `monotonic`. */
export interface PendingTimer {
  readonly name: string
  readonly due: number
}

/** A clock that a test moves. */
export interface VirtualClock extends Clock {
  /** As that of any clock. `timers` and reports show the name. No timer holds the process. */
  readonly schedule: (delay: number, task: () => void, name?: string | { readonly holds?: boolean }) => Cancel
  /** Resolves `ms` milliseconds from now. */
  readonly sleep: (ms: number, name?: string) => Promise<void>
  /**
   * Moves the time by `ms` and runs due timers, in the order of time, with those that they schedule. Promise
   * jobs do not run in between: use `advance` where there are any. A timer that throws stops the tick at its
   * time, with its error; a later call goes on.
   */
  readonly tick: (ms: number) => void
  /** Like `tick`; and before, between and after the timers every promise job runs, as in a real process. */
  readonly advance: (ms: number) => Promise<void>
  /** Lets every promise job run, and moves nothing. */
  readonly settle: () => Promise<void>
  /** Advances from timer to timer until none is left. */
  readonly runAll: () => Promise<void>
  /**
   * Moves the time until a promise, or a task of fp-ts, is done, and settles as it does. Rejects with a
   * report of waiting timers if it never can: a deadlock, where no timer is left; more than `maxTimers`; or
   * not within `timeout` milliseconds (default: any time).
   */
  readonly run: <A>(task: Promise<A> | Task<A>, options?: { readonly timeout?: number }) => Promise<A>
  /** Stops the time in `advance`, `runAll` and `run` until this is done: a file, a socket. Answers it. */
  readonly hold: <A>(real: Promise<A>) => Promise<A>
  /** Timers that neither ran nor were cancelled: 0 means that nothing is left. */
  readonly pending: () => number
  /** The same timers, by due time. */
  readonly timers: () => ReadonlyArray<PendingTimer>
  /** Shifts the wall clock by `shift` ms, as NTP or a sleep of the machine does. Timers do not change. */
  readonly wall: (shift: number) => void
}

const clockOptions = strict({
  start: withDefault(wholeNumber('ms', -8.64e15), Date.UTC(2026, 0, 1)),
  maxTimers: withDefault(limit('timers'), 1_000_000),
  ties: optional(func<Random>()),
})

interface Timer extends PendingTimer {
  /** When it runs: the due time, and its place among those of the same moment. */
  readonly key: number
  /** Undefined after it ran or was cancelled, so that a `Cancel` that is kept holds no task. */
  task: (() => void) | undefined
  /** Of the code that scheduled it, as a timer of Node keeps it. */
  readonly context: AsyncResource
}

/** Ties are broken by less than this, in milliseconds. */
const MOMENT = 2 ** -20
const MAX_NAMED = 10
/**
 * Immediates that are asked for together. Node runs every promise job and tick between two of them, as
 * between two turns of the event loop, at a sixth of the time (0.3 and 1.7 µs): no input or output.
 */
const TOGETHER = 16

/** In the next turn of the event loop every promise job that needs no input, output or timer has run. */
const settle = (): Promise<void> => new Promise((resolve) => void realImmediate(resolve))

/** Contexts of timers made, by all clocks. They are resources too. */
let contexts = 0
let clocksAtWork = 0

/** Grows with every immediate, tick, timer and handle that the process makes. Promise jobs do not count. */
const countResources = (): number => new AsyncResource('headrace.virtualClock').asyncId() - contexts

/**
 * A `Clock` for tests: time moves only when the test moves it, so four hours of retries take milliseconds and
 * are the same in every run. With promises in between use `advance`. Nothing global is patched.
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
  const { start, maxTimers, ties } = checkOptions('options of virtualClock', clockOptions, options)
  const timers = heap<Timer>()
  const held = new Set<Promise<unknown>>()
  let cancelled = 0
  let elapsed = 0
  let shifted = 0

  const schedule: VirtualClock['schedule'] = (delay, task, given) => {
    const name = typeof given === 'string' ? given : task.name || 'a timer'
    const due = elapsed + (delay > 0 ? Math.ceil(delay) : 0)
    contexts++
    const context = new AsyncResource('headrace.timer', { requireManualDestroy: true })
    const key = ties === undefined ? due : due + ties() * MOMENT
    const timer: Timer = { name, due, key, task, context }
    timers.push(timer.key, timer)
    return () => {
      if (timer.task === undefined) return
      cancelled++
      timer.task = undefined
      context.emitDestroy()
    }
  }

  const waiting = (): ReadonlyArray<PendingTimer> => {
    const all = timers.take(Infinity, Infinity)
    for (const timer of all) timers.push(timer.key, timer)
    return all.flatMap(({ name, due, task }) => (task === undefined ? [] : { name, due }))
  }

  const stuck = (why: string, more = ''): Error => {
    const all = waiting().map(({ name, due }) => `${name} (at ${String(due)} ms)`)
    const rest = all.length > MAX_NAMED ? `, and ${String(all.length - MAX_NAMED)} more` : ''
    const named = `timers that wait: ${all.slice(0, MAX_NAMED).join(', ')}${rest}`
    return new Error(`${why}; ${all.length === 0 ? 'no timer waits' : named}${more}`)
  }

  const timeAfter = (ms: number): number => {
    if (ms >= 0 && ms < Infinity) return elapsed + ms
    throw new RangeError(`the time moves forward by a finite number of milliseconds, not by ${String(ms)}`)
  }

  /** The next timer that is due at `target` or before, left in. Cancelled ones are dropped. */
  const nextDue = (target: number): Timer | undefined => {
    for (let timer = timers.peek(); timer !== undefined && timer.due <= target; timer = timers.peek()) {
      if (timer.task !== undefined) return timer
      timers.pop()
      cancelled--
    }
    return undefined
  }

  /** Runs the next timer, after `ran` others in this call. */
  const fire = (timer: Timer, ran: number): void => {
    if (ran >= maxTimers) {
      const why = `livelock: ${String(maxTimers)} timers ran in one call and more are due`
      throw stuck(`${why}; raise \`maxTimers\` if that is right`)
    }
    const { task, due, context } = timer
    timers.pop()
    timer.task = undefined
    elapsed = Math.max(elapsed, due)
    if (task !== undefined) context.runInAsyncScope(task)
    context.emitDestroy()
  }

  /** Lets all promise jobs run, and all that is held end. */
  const rest = async (): Promise<void> => {
    do {
      await Promise.allSettled(held)
      await settle()
    } while (held.size > 0)
  }

  const advanceTo = async (target: number, isDone = () => false): Promise<void> => {
    let ran = 0
    let asked = 0
    let wake = (): void => undefined
    const onImmediate = (): void => {
      asked--
      wake()
    }
    await rest()
    for (let timer = nextDue(target); timer !== undefined && !isDone(); timer = nextDue(target)) {
      if (asked === 0) for (; asked < TOGETHER; asked++) realImmediate(onImmediate)
      const before = countResources()
      fire(timer, ran++)
      await new Promise<void>((resolve) => (wake = resolve))
      // More than promise jobs was started, which may need the next turn.
      if (held.size > 0 || countResources() > before + 1) await rest()
    }
  }

  const run = async <A>(task: Promise<A> | Task<A>, { timeout = Infinity } = {}): Promise<A> => {
    const target = Math.min(elapsed + timeout, Number.MAX_VALUE)
    const promise = typeof task === 'function' ? task() : task
    const state = { isDone: false }
    const done = () => (state.isDone = true)
    promise.then(done, done)
    clocksAtWork++
    try {
      await advanceTo(target, () => state.isDone)
      if (state.isDone) return await promise
      const deadlock = 'deadlock: the task waits for something that never comes'
      const why = timeout === Infinity ? deadlock : `the task is not done after ${String(timeout)} ms`
      const nested =
        '; another virtual clock runs at this time: a `simulate` within another one has to be in `hold` too'
      throw stuck(why, `; real input or output has to be in \`hold\`${clocksAtWork > 1 ? nested : ''}`)
    } finally {
      clocksAtWork--
    }
  }

  return {
    now: () => Math.floor(start + shifted + elapsed),
    monotonic: () => elapsed,
    schedule,
    sleep: (ms, name = 'sleep') => new Promise((resolve) => void schedule(ms, resolve, name)),
    tick: (ms) => {
      const target = timeAfter(ms)
      let ran = 0
      for (let timer = nextDue(target); timer !== undefined; timer = nextDue(target)) fire(timer, ran++)
      elapsed = Math.max(elapsed, target)
    },
    advance: async (ms) => {
      const target = timeAfter(ms)
      await advanceTo(target)
      elapsed = Math.max(elapsed, target)
    },
    settle,
    run,
    hold: (real) => {
      held.add(real)
      real.finally(() => held.delete(real)).catch(() => undefined)
      return real
    },
    // A timer at Infinity is never due.
    runAll: () => advanceTo(Number.MAX_VALUE),
    pending: () => timers.size() - cancelled,
    timers: waiting,
    wall: (shift) => void (shifted += shift),
  }
}
