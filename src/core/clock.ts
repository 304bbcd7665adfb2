/**
 * The one port for time. Everything in headrace that reads the time or waits goes through a `Clock`, so that a test can
 * play four hours in milliseconds and a host can bring its own.
 *
 * @module
 */

import { Subscription } from 'rxjs'
import type { SchedulerAction, SchedulerLike } from 'rxjs'

/** Undoes what was scheduled. Calling it again, or after the task ran, does nothing. */
export type Cancel = () => void

/** Time as headrace sees it: two ways to read it and one way to wait. */
export interface Clock {
  /** Wall clock, whole milliseconds since 1970. May step back or forward; only for stamps that leave the process. */
  readonly now: () => number
  /** Milliseconds since some fixed moment; never goes back. For durations. */
  readonly monotonic: () => number
  /**
   * Runs `task` once, `delay` milliseconds from now (never earlier, at least one turn of the event loop later).
   * A delay below zero or NaN counts as 0; one above 2^31 - 1 is waited in several steps.
   */
  readonly schedule: (delay: number, task: () => void) => Cancel
}

/** The longest delay that `setTimeout` keeps: a longer one would fire at once. */
const LONGEST_TIMER = 2_147_483_647

const scheduling =
  (holds: boolean): Clock['schedule'] =>
  (delay, task) => {
    const wanted = delay > 0 ? Math.ceil(delay) : 0
    let left = wanted
    let timer: NodeJS.Timeout
    const arm = (): void => {
      const part = Math.min(left, LONGEST_TIMER)
      left -= part
      timer = setTimeout(left > 0 ? arm : task, part)
      if (!holds) timer.unref()
    }
    arm()
    return () => {
      clearTimeout(timer)
    }
  }

/** The machine's own time. Its timers keep the process alive, because somebody waits for what they will do. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule: scheduling(true),
}

/**
 * The machine's own time with timers that do not keep the process alive: for who has another way to finish its work when the
 * program ends (CL7).
 */
export const backgroundClock: Clock = { ...systemClock, schedule: scheduling(false) }

const readings = new WeakMap<Clock, () => number>()

/**
 * A reading of the wall clock that cannot step: the wall time at the first call, carried on by the monotonic clock.
 * Deadlines and due times are kept in it, so setting the machine's clock neither lengthens nor skips a retry (webhooks/S43).
 * A clock has one reading, however often it is asked for: a deadline set in one place is compared in another.
 */
export const steady = (clock: Clock): (() => number) => {
  const known = readings.get(clock)
  if (known !== undefined) return known
  const offset = clock.now() - clock.monotonic()
  const reading = (): number => Math.floor(offset + clock.monotonic())
  readings.set(clock, reading)
  return reading
}

/**
 * Settles as `task` does, and rejects when that takes longer than `within` milliseconds. What the task does later is passed over: it is
 * for what must not keep a process from its end.
 */
export const inTime = (clock: Clock, within: number, task: () => Promise<void>): Promise<void> =>
  new Promise((resolve, reject) => {
    const cancel = clock.schedule(within, () => {
      reject(new Error(`it did not end within ${String(within)} ms`))
    })
    void Promise.resolve().then(task).finally(cancel).then(resolve, reject)
  })

/**
 * Runs `task` once in the next turn of the event loop, when I/O has had its chance. It is no time that passes: it is how long work
 * steps aside, and a virtual clock does not hold it up.
 */
export const nextTurn = (task: () => void): Cancel => {
  const immediate = setImmediate(task)
  return () => {
    clearImmediate(immediate)
  }
}

/** The one source of chance: numbers in [0, 1). Jitter is the only thing in headrace that draws from it. */
export type Random = () => number

/** The machine's own chance. */
export const systemRandom: Random = Math.random

type Work<T> = (this: SchedulerAction<T>, state?: T) => void

/** One scheduled work, which may schedule itself again; it has at most one timer at a time, as RxJS's own actions have. */
const actionOn = <T>(clock: Clock, work: Work<T>): SchedulerAction<T> => {
  const subscription = new Subscription()
  let cancel: Cancel | undefined

  const stop = (): void => {
    cancel?.()
    cancel = undefined
  }

  const run = (state: T | undefined): void => {
    cancel = undefined
    try {
      work.call(action, state)
    } catch (error) {
      action.unsubscribe()
      throw error
    }
  }

  const schedule = (state?: T, delay = 0): Subscription => {
    if (subscription.closed) return subscription
    stop()
    cancel = clock.schedule(delay, () => {
      run(state)
    })
    return subscription
  }

  const action: SchedulerAction<T> = Object.assign(subscription, { schedule })
  action.add(stop)
  return action
}

/**
 * A clock as a scheduler, for the RxJS operators that take one: `timer(5_000, toScheduler(clock))`. With a virtual clock they
 * run in virtual time, together with everything else.
 *
 * Its `now` is the steady reading of the clock, so that an operator which measures (`debounceTime`) is not fooled when
 * somebody sets the machine's time. A period counts from when its work ran, so a late timer is not made up for.
 *
 * @example
 * import { systemClock, toScheduler } from 'headrace'
 * import { timer } from 'rxjs'
 *
 * timer(1, toScheduler(systemClock)).subscribe(() => console.log('one millisecond later'))
 */
export const toScheduler = (clock: Clock): SchedulerLike => ({
  now: steady(clock),
  schedule: <T>(work: Work<T>, delay = 0, state?: T): Subscription =>
    actionOn(clock, work).schedule(state, delay),
})
