/**
 * The one implementation of retry: takes what is due from an outbox, gives it to a sink, and does what `step` says with the
 * verdict. The only place in headrace where anything waits for a retry.
 *
 * @module
 */
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { steady } from '../../clock/Clock.ts'
import * as Failure from '../../outcome/Failure.ts'
import * as Outcome from '../../outcome/Outcome.ts'
import { closed } from '../../outcome/Refusal.ts'
import type { Full } from '../../outcome/Refusal.ts'
import type { Verdict } from '../../outcome/Verdict.ts'
import { deadlineOf } from '../../policy/deadlineOf.ts'
import { step } from '../../policy/step.ts'
import type { Entry } from '../../sink/Outbox.ts'
import { abandonedOf } from './abandonedOf.ts'
import { feeding } from './feeding.ts'
import { handBack } from './handBack.ts'
import { hearsay } from './hearsay.ts'
import { questions } from './questions.ts'
import type { Relay, RelayOptions } from './RelayContract.ts'
import { reporting } from './reporting.ts'
import { rounds } from './rounds.ts'
import { watchers } from './watchers.ts'
import { writes } from './writes.ts'

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
  const store = { ...writes(clock, say.defect), ...questions(changed) }

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
    const untried = entry.since === undefined && isLeft(verdict) && !Failure.wasStarted(verdict.left)
    const since = untried ? at : startedAt
    const next = step(retry, entry.progress, since, verdict, at, random)
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
        say.tell({ _tag: 'Waiting', at, item, attempts, failure: progress.last, delay, because })
        park(untried ? entry : { id, item, since, progress }, due)
      }
    }
  }

  const round = rounds(options.sink, { settled, rested: changed, defect: say.defect })

  const start = (entry: Entry<A>): void => {
    taken--
    const at = now()
    const since = entry.since ?? at
    if (rests()) {
      stranded.push(entry)
    } else if (entry.progress !== undefined && at >= since + window) {
      // DE4: what was never attempted does not expire; what waited beyond its deadline (while nobody ran) does.
      const { attempts, last } = entry.progress
      finish(entry, Outcome.expired(entry.item, Failure.expired(attempts, since, last)))
    } else {
      round.start(entry, since, since + window)
    }
  }

  /** Handed out, and neither parked nor ended by what the store says. */
  const inHand = (): number => round.inRound() + store.pending()

  /** The places that are taken. What the store has not let go of takes some too: else we would hold all that a failing store has. */
  const placesTaken = (): number => round.inRound() + Math.max(0, store.pending() - MOST_UNWRITTEN)

  const { pump, pumpNew, isTaking, rest } = feeding({
    outbox,
    clock,
    now,
    most: options.inRound,
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

  const heard = hearsay({
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
      round.inRound() > 0 ||
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
    report: say.tell,
    totals: say.totals,
    now,
  }
}
