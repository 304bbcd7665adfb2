/** Time in its simplest form: a list of timers, searched for the first of them. */
export interface Timer {
  readonly at: number
  readonly order: number
  readonly run: () => void
  cancelled: boolean
}

export interface ModelTime {
  readonly now: () => number
  readonly schedule: (ms: number, run: () => void) => Timer
  readonly tick: (ms: number) => void
}

export const modelTime = (): ModelTime => {
  let timers: Timer[] = []
  let now = 0
  let scheduled = 0
  return {
    now: () => now,
    schedule: (ms, run) => {
      const timer = { at: now + ms, order: scheduled++, run, cancelled: false }
      timers.push(timer)
      return timer
    },
    tick: (ms) => {
      const target = now + ms
      for (;;) {
        timers = timers.filter(({ cancelled }) => !cancelled)
        const [next] = timers.toSorted((a, b) => a.at - b.at || a.order - b.order)
        if (next === undefined || next.at > target) break
        timers = timers.filter((each) => each !== next)
        now = next.at
        next.run()
      }
      now = target
    },
  }
}
