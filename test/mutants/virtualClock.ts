/** A virtual clock over a plain list, and what could be wrong with one. */
import type { MakeClock } from '../laws/virtualClock.ts'

export const clockBugs = {
  lastFirst: 'runs equal times in the reverse order',
  oneByOne: 'runs everything at the time of the target',
  notTheNew: 'does not run what was scheduled meanwhile',
  countsCancelled: 'counts cancelled timers as pending',
  cancelsTwice: 'counts a cancel after the run',
  stepsBoth: 'steps the monotonic clock with the wall clock',
  deafToCancel: 'runs what was cancelled while its turn had come',
  noJobs: 'lets no promise job run between timers',
  early: 'rounds a delay down',
} as const

export type ClockBug = keyof typeof clockBugs

interface Timer {
  readonly due: number
  state: 'waits' | 'ran' | 'cancelled'
  readonly task: () => void
}

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

export const clockWith =
  (bug: ClockBug | undefined): MakeClock =>
  (start) => {
    const timers: Timer[] = []
    let elapsed = 0
    let shifted = 0
    let miscounted = 0

    const due = (target: number, among: ReadonlyArray<Timer>): Timer | undefined => {
      let first: Timer | undefined
      for (const timer of among) {
        if (timer.state !== 'waits' || timer.due > target) continue
        if (first === undefined || timer.due < first.due || (bug === 'lastFirst' && timer.due === first.due))
          first = timer
      }
      return first
    }

    const run = (timer: Timer, target: number): void => {
      timer.state = 'ran'
      elapsed = Math.max(elapsed, bug === 'oneByOne' ? target : timer.due)
      timer.task()
    }

    const tick = (ms: number): void => {
      const target = elapsed + ms
      const known = bug === 'notTheNew' ? [...timers] : timers
      const ready =
        bug === 'deafToCancel' ? timers.filter((timer) => timer.state === 'waits' && timer.due <= target) : []
      for (let next = due(target, known); next !== undefined; next = due(target, known)) run(next, target)
      for (const timer of ready) if (timer.state === 'cancelled') run(timer, target)
      elapsed = target
    }

    const advanceTo = async (target: number): Promise<void> => {
      if (bug !== 'noJobs') await turn()
      for (let next = due(target, timers); next !== undefined; next = due(target, timers)) {
        run(next, target)
        if (bug !== 'noJobs') await turn()
      }
      await turn()
    }

    return {
      now: () => start + shifted + elapsed,
      monotonic: () => elapsed + (bug === 'stepsBoth' ? shifted : 0),
      schedule: (delay, task) => {
        const wait = delay > 0 ? (bug === 'early' ? Math.floor(delay) : Math.ceil(delay)) : 0
        const timer: Timer = { due: elapsed + wait, state: 'waits', task }
        timers.push(timer)
        return () => {
          if (timer.state === 'waits') timer.state = 'cancelled'
          else if (bug === 'cancelsTwice' && timer.state === 'ran') miscounted++
        }
      },
      tick,
      advance: async (ms) => {
        const target = elapsed + ms
        await advanceTo(target)
        elapsed = target
      },
      settle: turn,
      runAll: () => advanceTo(Number.MAX_VALUE),
      pending: () =>
        timers.filter(
          ({ state }) => state === 'waits' || (bug === 'countsCancelled' && state === 'cancelled'),
        ).length - miscounted,
      wall: (shift) => {
        shifted += shift
      },
    }
  }
