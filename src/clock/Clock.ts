/**
 * The one port for time. Everything in headrace that reads the time or waits goes through a `Clock`, so that a test can
 * play four hours in milliseconds and a host can bring its own.
 *
 * @module
 */

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
