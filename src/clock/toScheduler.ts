import { Subscription } from 'rxjs'
import type { SchedulerAction, SchedulerLike } from 'rxjs'
import { steady } from './Clock.ts'
import type { Cancel, Clock } from './Clock.ts'

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
