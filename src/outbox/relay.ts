/**
 * The one implementation of retry: takes what is due from an outbox, gives it to a sink, and does what `step` says with the
 * verdict. The only place in headrace where anything waits for a retry.
 *
 * @module
 */

import * as Failure from '../core/failure.ts'
import * as Outcome from '../core/outcome.ts'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Awaitable } from '../core/awaitable.ts'
import { steady } from '../core/clock.ts'
import type { Cancel, Clock, Random } from '../core/clock.ts'
import type { Verdict } from '../core/failure.ts'
import { closed } from '../core/refusal.ts'
import type { Closed, Full } from '../core/refusal.ts'
import type { Totals } from '../core/totals.ts'
import type { Listener } from '../log/logEvent.ts'
import { deadlineOf } from '../policy/retryPolicy.ts'
import type { RetryPolicy } from '../policy/retryPolicy.ts'
import { step } from '../policy/step.ts'
import type { Sink } from '../sink/sink.ts'
import { handBack } from './close.ts'
import { deliveries } from './deliveries.ts'
import { externalChanges } from './externalChanges.ts'
import type { DeadLetter, Entry, Outbox } from './outbox.ts'
import { poller } from './poller.ts'
import { reporting, watchers } from './reporting.ts'
import { storeQueries, storeWrites } from './storeCalls.ts'

/** What a relay works with. */
export interface RelayOptions<A> {
  readonly sink: Sink<A>
  readonly outbox: Outbox<A>
  readonly retry: RetryPolicy
  readonly clock: Clock
  readonly random: Random
  /** How many items may be in a round at once; the others wait in the outbox (DE8). */
  readonly maxInFlight: number
  readonly onEvent?: Listener | undefined
  /** Whether anybody would hear of an item that is accepted, or delivered; of all else it tells in any case. Default: with a `onEvent`. */
  readonly hears?: (tag: 'Accepted' | 'Ended') => boolean
  /** Is told each outcome, once it is as durable as the outbox; never of one while it is told of another. */
  readonly ended: (outcome: Outcome.Outcome<A>) => void
  /** Is told, a turn later, that the outbox said something of its own accord: there may be room that nobody here made. */
  readonly news?: () => void
}

/** A relay at work. */
export interface Relay<A> {
  /** Takes an item into keeping: from here on it will have exactly one outcome. */
  readonly offer: (item: A) => Awaitable<Either<Full | Closed, Entry<A>>>
  /**
   * Takes an item into keeping that the outbox has no room for, and ends it at once as rejected, without an attempt: it is a dead letter
   * as soon as the outbox has it.
   */
  readonly bury: (item: A, failure: Failure.Failure) => Awaitable<Either<Closed, void>>
  /** Refuses new items from now on. */
  readonly refuse: () => void
  /** Starts no new round from now on. */
  readonly rest: () => void
  /**
   * Cancels what runs and hands back what has not ended, as soon as the store has answered all that it was asked. A durable
   * outbox keeps it, and nothing is handed back.
   */
  readonly brake: (then: (items: ReadonlyArray<A>) => void) => void
  /** Looks for what is due: something came to the outbox after it was accepted. */
  readonly look: () => void
  /** Ends as abandoned what was withdrawn from the outbox, and waits for it no longer. */
  readonly withdrawn: (entries: ReadonlyArray<Entry<A>>) => void
  /**
   * Whether a round is under way or could start before `instant` (by `now`). Of what only the outbox can date (`watch`) it is taken that it
   * starts before Infinity, and before no other moment.
   */
  readonly active: (instant: number) => boolean
  /** Deliveries of which something still runs, siblings of ended ones included. */
  readonly running: () => number
  /** Whether it was braked and everything was handed back: nothing will change any more. */
  readonly isOver: () => boolean
  /** Has `listener` called after each change that could bring the relay to rest. Answers how to take it away. */
  readonly onChange: (listener: () => void) => Cancel
  /** Puts dead letters back to wait; they count as accepted anew. Answers how many: none once new items are refused. */
  readonly redrive: (matches: (letter: DeadLetter<A>) => boolean) => Promise<number>
  /** Tells whoever listens; never throws. */
  readonly report: Listener
  readonly totals: () => Totals
  /** The time in which due times and deadlines are kept. */
  readonly now: () => number
}

/** The outcome of an entry that nobody here will deliver any more. */
export const abandonedOf = <A>({ item, progress }: Entry<A>): Outcome.Outcome<A> =>
  Outcome.abandoned(item, progress?.attempts ?? 0, progress?.lastFailure)

/**
 * So many that have ended, or wait for a retry, may still be on their way into the store while others start in their places: nobody waits
 * for each sync. A crash may bring so many more again (HD48).
 */
const MOST_UNWRITTEN = 16

/** Makes a relay over an outbox. What the outbox held already is worked too. */
export const relay = <A>(options: RelayOptions<A>): Relay<A> => {
  const { outbox, retry, clock, random } = options
  const now = steady(clock)
  const window = deadlineOf(retry)
  const say = reporting(options, now, outbox.watch === undefined ? outbox.stats().waiting : 0)
  /** Taken or given up by the store, and not to be started because the relay rests. */
  const stranded: Array<Entry<A>> = []
  /** So many were handed out, and are still to be started. */
  let taken = 0
  let mode: 'open' | 'refusing' | 'resting' | 'over' = 'open'

  const rests = (): boolean => mode === 'resting' || mode === 'over'
  const { changed, onChange, whenever } = watchers()
  const store = { ...storeWrites(clock, say.defect), ...storeQueries(changed) }

  const finish = (entry: Entry<A>, outcome: Outcome.Outcome<A>): void => {
    store.commit({
      make: () => outbox.end(entry, outcome),
      then: () => {
        say.ended(outcome)
        pumpNew()
      },
      otherwise: () => {
        // A durable store brings it back one day; of another one this is all that will ever be known.
        if (!outbox.durable) say.ended(outcome)
        changed()
      },
    })
    if (store.pending() > 0) pumpNew()
  }

  const park = (entry: Entry<A>, due: number): void => {
    store.commit({
      make: () => outbox.park(entry, due),
      then: pump,
      otherwise: () => {
        stranded.push(entry)
        changed()
      },
    })
    if (store.pending() > 0) pump()
  }

  const settled = (entry: Entry<A>, startedAt: number, verdict: Verdict): void => {
    const at = now()
    const { id, item } = entry
    // DE4: a round in which nothing was started is no first attempt, and the deadline does not count from it.
    const untried = entry.firstAttemptAt === undefined && isLeft(verdict) && !Failure.wasStarted(verdict.left)
    const firstAttemptAt = untried ? at : startedAt
    const next = step(retry, entry.progress, firstAttemptAt, verdict, at, random)
    switch (next._tag) {
      case 'Deliver':
        finish(entry, Outcome.delivered(item, next.attempts, next.receipt))
        return
      case 'Reject':
        finish(entry, Outcome.rejected(item, next.attempts, next.failure))
        return
      case 'Expire':
        finish(entry, Outcome.expired(item, next.failure))
        return
      case 'Wait': {
        const { progress, due, delay, because } = next
        const attempts = untried ? 0 : progress.attempts
        say.onEvent({ _tag: 'Waiting', at, item, attempts, failure: progress.lastFailure, delay, because })
        park(untried ? entry : { id, item, firstAttemptAt, progress }, due)
      }
    }
  }

  const round = deliveries(options.sink, { settled, rested: changed, defect: say.defect })

  const start = (entry: Entry<A>): void => {
    taken--
    const at = now()
    const firstAttemptAt = entry.firstAttemptAt ?? at
    if (rests()) {
      stranded.push(entry)
    } else if (entry.progress !== undefined && at >= firstAttemptAt + window) {
      // DE4: what was never attempted does not expire; what waited beyond its deadline (while nobody ran) does.
      const { attempts, lastFailure: last } = entry.progress
      finish(entry, Outcome.expired(entry.item, Failure.expired(attempts, firstAttemptAt, last)))
    } else {
      round.start(entry, firstAttemptAt, firstAttemptAt + window)
    }
  }

  /** Handed out, and neither parked nor ended by what the store says. */
  const inHand = (): number => round.inFlight() + store.pending()

  /** The places that are taken. What the store has not let go of takes some too: else we would hold all that a failing store has. */
  const placesTaken = (): number => round.inFlight() + Math.max(0, store.pending() - MOST_UNWRITTEN)

  const { pump, pumpNew, isTaking, rest } = poller({
    outbox,
    clock,
    now,
    most: options.maxInFlight,
    placesTaken,
    retries: round.retries,
    rests,
    handedOut: (entries) => {
      taken = entries.length
      heard.handedOut()
    },
    start,
    defect: (error) => {
      say.defect('outbox', error)
    },
    changed,
  })

  const heard = externalChanges({
    outbox,
    clock,
    say,
    inHand: () => inHand() + stranded.length + taken,
    look: () => {
      pumpNew()
      options.news?.()
    },
  })

  const admit = (answer: Either<Full, Entry<A>>): Either<Full, Entry<A>> => {
    if (!isLeft(answer)) {
      say.accepted(answer.right.item)
      pumpNew()
    }
    return answer
  }

  const readmit = (count: number): void => {
    say.acceptedUnseen(count)
    pumpNew()
  }

  const isBusy = (): boolean => isTaking() || store.open() + store.pending() > 0

  const brake: Relay<A>['brake'] = (then) => {
    if (!rests()) mode = 'resting'
    rest()
    store.giveUp()
    const cut = round.cancelAll()
    // Once the store has answered everything: what it had in hand is somewhere then.
    whenever(
      () => !isBusy(),
      () => {
        handBack({ outbox, store, say }, [...cut, ...stranded.splice(0)], (items) => {
          mode = 'over'
          heard.stop()
          then(items)
          changed()
        })
      },
    )
  }

  pump()

  return {
    offer: (item) => {
      if (mode !== 'open') return left(closed(item))
      return store.ask(() => outbox.append(item), admit)
    },
    bury: (item, failure) => {
      if (mode !== 'open') return left(closed(item))
      const outcome = Outcome.rejected(item, 0, failure)
      return store.ask(
        () => outbox.bury?.(item, outcome),
        () => {
          say.stillborn(outcome)
          return right(undefined)
        },
      )
    },
    refuse: () => {
      if (mode === 'open') mode = 'refusing'
    },
    rest: () => {
      if (!rests()) mode = 'resting'
      rest()
    },
    brake,
    look: pumpNew,
    withdrawn: (entries) => {
      for (const entry of entries) say.ended(abandonedOf(entry))
      pumpNew()
    },
    active: (instant) =>
      round.inFlight() > 0 ||
      isBusy() ||
      say.speaking() ||
      (!rests() && ((outbox.nextDue() ?? Infinity) < instant || (instant === Infinity && heard.isWaiting()))),
    running: round.running,
    isOver: () => mode === 'over',
    onChange,
    redrive: async (matches) => {
      if (mode !== 'open') return 0
      let counted = 0
      const moved = (count: number): void => {
        counted += count
        readmit(count)
      }
      return store.ask(
        () => outbox.dead.redrive(matches, moved),
        (count) => {
          readmit(count - counted)
          return count
        },
      )
    },
    report: say.onEvent,
    totals: say.totals,
    now,
  }
}
