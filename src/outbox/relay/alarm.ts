import type { Cancel, Clock } from '../../clock/Clock.ts'
import { nothingToCancel } from '../../sink/Run.ts'

/** One timer for all that waits. */
export interface Alarm {
  /** Rings at `due`, unless it is set to ring before. */
  readonly atLatest: (due: number) => void
  readonly clear: () => void
}

/** An alarm that is set to moments of `now`, and calls `ring`. After `clear` it can be set anew. */
export const alarm = (clock: Clock, now: () => number, ring: () => void): Alarm => {
  let cancel: Cancel = nothingToCancel
  let set = Infinity
  return {
    atLatest: (due) => {
      if (due >= set) return
      cancel()
      set = due
      cancel = clock.schedule(due - now(), () => {
        set = Infinity
        ring()
      })
    },
    clear: () => {
      cancel()
      set = Infinity
    },
  }
}
