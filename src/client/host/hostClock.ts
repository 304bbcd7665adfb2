import { backgroundClock } from '../../core/clock.ts'
import type { Clock } from '../../core/clock.ts'

/**
 * A clock of the host's as the client uses it: one that throws, or answers no number, loses no message (CL5). Then the machine's
 * time is taken, going on from what the host's clock said last.
 *
 * @param defect is told what it threw
 */
export const hostClock = (given: Clock, defect: (error: unknown) => void): Clock => {
  const reader = (read: () => number, own: () => number): (() => number) => {
    let last: number | undefined
    let ownLast = 0
    /** The machine's time, as far on from the last good reading as the machine has moved since. */
    const instead = (error: unknown): number => {
      const now = own()
      const moved = last === undefined ? now : last + (now - ownLast)
      defect(error)
      return moved
    }
    return () => {
      let value: number
      try {
        value = read()
      } catch (error) {
        return instead(error)
      }
      if (!Number.isFinite(value)) return instead(new TypeError('the clock answered no number'))
      last = value
      ownLast = own()
      return value
    }
  }
  return {
    now: reader(() => given.now(), backgroundClock.now),
    monotonic: reader(() => given.monotonic(), backgroundClock.monotonic),
    schedule: (delay, task) => {
      try {
        const cancel = given.schedule(delay, task)
        return () => {
          try {
            cancel()
          } catch (error) {
            defect(error)
          }
        }
      } catch (error) {
        defect(error)
        return backgroundClock.schedule(delay, task)
      }
    },
  }
}
