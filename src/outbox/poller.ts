import { whenAnswered } from '../core/awaitable.ts'
import type { Cancel, Clock } from '../core/clock.ts'
import { nothingToCancel } from '../sink/layer.ts'
import type { Outbox, Entry } from './outbox.ts'
import { STORE_RETRY_DELAY } from './storeCalls.ts'

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
      if (due !== undefined) atLatest(due > last ? due : now() + STORE_RETRY_DELAY)
    },
  }
}

/** What feeding works with. */
export interface PollerOptions<A> {
  readonly outbox: Pick<Outbox<A>, 'take' | 'nextDue'>
  readonly clock: Clock
  readonly now: () => number
  /** How many places there are. */
  readonly most: number
  /** How many are taken. */
  readonly placesTaken: () => number
  /** How many retries are in a round. */
  readonly retries: () => number
  /** Whether nothing is to be started any more. */
  readonly rests: () => boolean
  /** Entries are in hand that were not before, and will be started. */
  readonly handedOut: (entries: ReadonlyArray<Entry<A>>) => void
  readonly start: (entry: Entry<A>) => void
  /** Is told what the outbox threw or rejected with. */
  readonly defect: (error: unknown) => void
  /** Is called after each look. */
  readonly changed: () => void
}

/** Takes what is due from an outbox, for as long as there is room for more. */
export interface Poller {
  /** Looks for what is due, and sets the timer for what is due next. */
  readonly pump: () => void
  /** The same when there may be new entries: one was appended, or one that others waited for has ended. */
  readonly pumpNew: () => void
  /** Whether a `take` is not answered yet, or what it brought is being started. */
  readonly isTaking: () => boolean
  /** Leaves no timer. */
  readonly rest: () => void
}

/** After so many starts the event loop has its turn, so that many retries due at once are no stall. */
const STARTS_A_TURN = 1_000

/** Retries take half of the places at most. Nothing is asked of an outbox before it says that something is due. */
export const poller = <A>(options: PollerOptions<A>): Poller => {
  const {
    outbox,
    now,
    most: places,
    placesTaken,
    retries,
    rests,
    handedOut,
    start,
    defect,
    changed,
  } = options
  const retrySlots = Math.max(1, Math.floor(places / 2))
  let pumping = false
  let taking = false
  /** Somebody wanted more while a `take` was not answered. */
  let missed = false
  /** So many were asked for. */
  let asked = 0
  /** There were fewer, so there are no new ones: to ask for these alone would be in vain. */
  let isDry = false

  const took = (entries: ReadonlyArray<Entry<A>>): number => {
    handedOut(entries)
    isDry = entries.length < asked && !missed
    for (const entry of entries) start(entry)
    // Only now: what was taken and not yet started must not look like rest.
    taking = false
    if (!pumping) {
      // Once more, for as long as there was something, or there may be by now.
      if (entries.length > 0 || missed) pump()
      else {
        // While the slots are taken, it is who gives one back that looks again.
        if (!rests() && retries() < retrySlots) timer.afterNothing()
        changed()
      }
    }
    return entries.length
  }

  const tookNothing = (error: unknown): number => {
    taking = false
    defect(error)
    if (!rests()) timer.atLatest(now() + STORE_RETRY_DELAY)
    changed()
    return 0
  }

  /** Takes up to `most` entries that are due and starts them. Answers how many; 0 too when the store answers later. */
  const startDue = (most: number): number => {
    const free = Math.min(places - placesTaken(), most)
    const at = now()
    timer.looked(at)
    if (taking) missed = true
    if (rests() || taking || free <= 0) return 0
    const freeRetries = Math.max(0, retrySlots - retries())
    if ((isDry && freeRetries === 0) || (outbox.nextDue() ?? Infinity) > at) return 0
    taking = true
    missed = false
    asked = free
    return whenAnswered(() => outbox.take(at, free, freeRetries), took, tookNothing) ?? 0
  }

  const pump = (): void => {
    if (pumping) return
    pumping = true
    let most = STARTS_A_TURN
    for (let started = startDue(most); started > 0; started = startDue(most)) most -= started
    pumping = false
    if (!rests()) timer.set(most <= 0)
    changed()
  }

  const pumpNew = (): void => {
    isDry = false
    pump()
  }

  const timer = dueTimer(options.clock, now, () => outbox.nextDue(), pump)

  return { pump, pumpNew, isTaking: () => taking, rest: timer.clear }
}
