/**
 * Time and chance. Code that reads the time or waits uses a `Clock`: a test plays hours in milliseconds.
 *
 * @module
 */

import { Subscription, type SchedulerAction, type SchedulerLike } from 'rxjs'
import { linkedList, type Link } from './linkedList.ts'
import { ShownError } from './refusal.ts'

/** Undoes what was scheduled. Calling it again, or after the task ran, does nothing. @inline */
export type Cancel = () => void

/** The time: two ways to read it and one way to wait. */
export interface Clock {
  /** Wall clock, whole milliseconds since 1970. May step back or forward. */
  readonly now: () => number
  /** Milliseconds since a fixed time; never goes back. For durations. */
  readonly monotonic: () => number
  /**
   * Runs `task` once, `delay` milliseconds from now (never earlier, at least one turn of the event loop
   * later). A delay below zero or NaN counts as 0; one above 2^31 - 1 is waited in several steps. With
   * `holds: false` the timer does not keep the process alive; a clock may ignore that. The answer cancels it.
   */
  readonly schedule: (delay: number, task: () => void, options?: { readonly holds?: boolean }) => () => void
}

/** The longest delay of `setTimeout`: a longer one would fire at once. */
const MAX_TIMER = 2_147_483_647

const scheduling =
  (keepsAlive: boolean): Clock['schedule'] =>
  (delay, task, { holds = keepsAlive } = {}) => {
    let left = delay > 0 ? Math.ceil(delay) : 0
    let timer: NodeJS.Timeout
    const arm = (): void => {
      const part = Math.min(left, MAX_TIMER)
      left -= part
      timer = setTimeout(left > 0 ? arm : task, part)
      if (!holds) timer.unref()
    }
    arm()
    return () => clearTimeout(timer)
  }

/** The machine's time. Its timers keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule: scheduling(true),
}

/** The machine's time with timers that do not keep the process alive. */
export const backgroundClock: Clock = { ...systemClock, schedule: scheduling(false) }

/** Whether a clock reads the machine's time: turns of the event loop mean nothing to another one. */
export const isMachine = ({ monotonic }: Clock): boolean => monotonic === systemClock.monotonic

/** One state for each clock, made at its first use. Both clocks of the machine have the same one. */
export const perClock = <S extends object>(make: (clock: Clock) => S): ((clock: Clock) => S) => {
  const states = new WeakMap<Clock, S>()
  let lastClock: Clock | undefined
  let lastState: S | undefined
  return (clock) => {
    // Most deliveries follow another one with their clock.
    if (clock === lastClock && lastState !== undefined) return lastState
    const known = clock === backgroundClock ? systemClock : clock
    const state = states.get(known) ?? make(known)
    states.set(known, state)
    lastClock = clock
    lastState = state
    return state
  }
}

/** The steady time, and how far it is ahead of the monotonic clock: another number after each jump. */
export const steadyTime = perClock((clock) => {
  let offset = clock.now() - clock.monotonic()
  /** A reading of the monotonic clock; a wall clock that is ahead is followed. Clocks drift by less. */
  const follow = (): number => {
    const reading = clock.monotonic()
    const lead = clock.now() - reading - offset
    if (lead >= 1_000) offset += lead
    return reading
  }
  return {
    now: (reading = follow()): number => Math.floor(offset + reading),
    offset: (): number => {
      follow()
      return offset
    },
  }
})

/**
 * Wall time that is never set back: the time at the first call, carried on by the monotonic clock. That one
 * stands still while a machine sleeps, so a wall clock that is ahead is followed. A clock has one such
 * reading, so all deadlines compare. A reading of the monotonic clock may be given.
 */
export const steady = (clock: Clock): ((reading?: number) => number) => steadyTime(clock).now

/** Runs `task` once in the next turn of the event loop, after I/O. A virtual clock does not delay it. */
export const nextTurn = (task: () => void): Cancel => {
  const immediate = setImmediate(task)
  return () => clearImmediate(immediate)
}

/** As `clock.schedule`. If the clock throws, `fail` gets the error and `run` runs in the next turn. */
export const scheduleSafely = (clock: Clock, ms: number, run: () => void, fail: (error: unknown) => void) => {
  try {
    return clock.schedule(ms, run)
  } catch (error) {
    fail(error)
    return nextTurn(run)
  }
}

/**
 * One timer for the next of several times, on the steady time of a clock. `set` runs the task at `due`, or
 * before if it is set for earlier; `Infinity`: not at all. `failed` receives errors of the clock.
 */
export const alarm = (clock: Clock, task: () => void, failed: (error: unknown) => void) => {
  const { now, offset } = steadyTime(clock)
  /** By the monotonic clock, as the timer: the steady time may jump meanwhile. */
  let setFor = Infinity
  let cancel: Cancel = () => undefined
  const run = (): void => {
    setFor = Infinity
    task()
  }
  return {
    set: (due: number): void => {
      const ringsAt = due - offset()
      if (due !== Infinity && ringsAt >= setFor) return
      if (setFor !== Infinity) cancel()
      setFor = ringsAt
      if (due !== Infinity) cancel = scheduleSafely(clock, due - now(), run, failed)
    },
  }
}

/** A call with a time limit: its start, by the monotonic clock, and the clock of its timer. */
export interface Timed<T> extends Link<T> {
  readonly start: number
  readonly clock: Clock
}

/**
 * Calls that may all take `limit` milliseconds, with one timer, for the oldest: with one for each an event
 * over lmdb took 1 µs more. `expire` takes its call out. Timers run before sockets are read, so after a late
 * one calls are judged 10 ms later, 250 ms if the process stood still for 50 ms: answers come first.
 */
export const timeLimit = <T extends Timed<T>>(clock: Clock, limit: number, expire: (call: T) => void) => {
  const calls = linkedList<T>()
  let disarm: Cancel | undefined
  let isCatchingUp = false
  /** Calls that were due by then are judged: answers to later ones may still be unread. */
  let judgedTo = 0
  const lateness = ({ start }: T, at = clock.monotonic()): number => at - start - limit

  const arm = (): void => {
    const oldest = calls.oldest()
    if (disarm === undefined && oldest) disarm = oldest.clock.schedule(-lateness(oldest), judge)
  }
  const judge = (): void => {
    let oldest = calls.oldest()
    const late = oldest === undefined ? 0 : lateness(oldest)
    isCatchingUp = !isCatchingUp && late > 0
    if (isCatchingUp || late <= 0) judgedTo = clock.monotonic()
    disarm = isCatchingUp ? oldest?.clock.schedule(late < 50 ? 10 : 250, judge) : undefined
    if (!isCatchingUp)
      for (; oldest && lateness(oldest, judgedTo) >= 0; oldest = calls.oldest()) expire(oldest)
    arm()
  }

  return {
    add: (call: T): void => {
      calls.push(call)
      arm()
    },
    /** Takes a call out. Answers whether it was in. */
    remove: (call: T): boolean => {
      const wasIn = calls.remove(call)
      if (wasIn && calls.size() === 0) {
        disarm?.()
        disarm = undefined
        isCatchingUp = false
      }
      return wasIn
    },
    oldest: calls.oldest,
    /** Whether a call ends at this very instant: by the machine's clock it is late, and is judged later. */
    isDue: (call: T): boolean => !isCatchingUp && lateness(call) === 0,
  }
}

/** Settles as `task` does, and rejects after `within` milliseconds. A later result is ignored. */
export const inTime = <A>(clock: Clock, within: number, task: () => Promise<A>): Promise<A> =>
  new Promise((resolve, reject) => {
    const tooLate = (): void => reject(new ShownError(`it did not end within ${String(within)} ms`))
    const cancel = scheduleSafely(clock, within, tooLate, reject)
    void Promise.resolve().then(task).finally(cancel).then(resolve, reject)
  })

/** Milliseconds of work in one turn of the event loop before others have theirs. */
const MAX_TURN = 10

let turnStartedAt: number | undefined

/**
 * Whether this turn of the event loop has lasted more than 10 ms, since its first call of any part or since a
 * reading of the clock: the rest of a long work belongs in the next one. Never with another clock than the
 * machine's, so that tests repeat.
 */
export const isTurnOver = (clock: Clock, since?: number): boolean => {
  if (!isMachine(clock)) return false
  const at = clock.monotonic()
  if (since !== undefined) return at - since > MAX_TURN
  if (turnStartedAt === undefined) {
    turnStartedAt = at
    nextTurn(() => (turnStartedAt = undefined))
  }
  return at - turnStartedAt > MAX_TURN
}

/** A source of random numbers in [0, 1). Only jitter draws from it. */
export type Random = () => number

/** `Math.random`. */
export const systemRandom: Random = Math.random

type Work<T> = (this: SchedulerAction<T>, state?: T) => void

/** One scheduled work, which may schedule itself again. Like RxJS's own actions it has at most one timer. */
const actionOn = <T>(clock: Clock, work: Work<T>): SchedulerAction<T> => {
  const subscription = new Subscription(() => cancel())
  let cancel: Cancel = () => undefined

  const schedule = (state?: T, delay = 0): Subscription => {
    if (subscription.closed) return subscription
    cancel()
    cancel = clock.schedule(delay, () => {
      try {
        work.call(action, state)
      } catch (error) {
        action.unsubscribe()
        throw error
      }
    })
    return subscription
  }

  const action: SchedulerAction<T> = Object.assign(subscription, { schedule })
  return action
}

/**
 * A clock as a scheduler, for the RxJS operators that take one: `timer(5_000, toScheduler(clock))`. With a
 * virtual clock they run in virtual time. Its `now` is never set back. A period counts from the last run.
 *
 * @example
 * import { systemClock, toScheduler } from 'headrace'
 * import { timer } from 'rxjs'
 *
 * timer(1, toScheduler(systemClock)).subscribe(() => console.log('one millisecond later'))
 */
export const toScheduler = (clock: Clock): SchedulerLike => ({
  now: steady(clock),
  schedule: <T>(work: Work<T>, delay = 0, state?: T) => actionOn(clock, work).schedule(state, delay),
})
