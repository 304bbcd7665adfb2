import type { Clock } from '../../clock/Clock.ts'
import type { Outbox } from '../../sink/Outbox.ts'
import { alarm } from './alarm.ts'
import type { Alarm } from './alarm.ts'
import { ASK_AGAIN_AFTER } from './writes.ts'

/** One timer for all that is parked. */
export interface DueTimer extends Alarm {
  /** The outbox was asked what was due at this moment. */
  readonly looked: (at: number) => void
  /** Sets it to when something is due next, or to now. */
  readonly set: (atOnce: boolean) => void
  /** Sets it, though a look brought nothing: a store may say that something is due, and hand it out a little later. */
  readonly afterNothing: () => void
}

/** A timer that calls `ring` when an outbox has something. What falls due after the last look must not be forgotten. */
export const dueTimer = (
  clock: Clock,
  now: () => number,
  nextDue: Outbox<unknown>['nextDue'],
  ring: () => void,
): DueTimer => {
  const { atLatest, clear } = alarm(clock, now, ring)
  let last = -Infinity

  return {
    atLatest,
    clear,
    looked: (at) => {
      last = at
    },
    set: (atOnce) => {
      const due = nextDue()
      if (atOnce) atLatest(now())
      else if (due === undefined) clear()
      else if (due > last) atLatest(due)
    },
    afterNothing: () => {
      const due = nextDue()
      if (due !== undefined) atLatest(due > last ? due : now() + ASK_AGAIN_AFTER)
    },
  }
}
