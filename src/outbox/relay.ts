/**
 * The one implementation of retry: takes what is due from an outbox, gives it to a sink, and does what `step` says with the
 * verdict. The only place in headrace where anything waits for a retry.
 *
 * @module
 */
import { isLeft, left } from 'fp-ts/lib/Either.js'
import { steady } from '../clock/Clock.ts'
import type { Cancel } from '../clock/Clock.ts'
import { whenAnswered } from '../internal/Awaitable.ts'
import type { Happening } from '../observe/Happening.ts'
import * as Failure from '../outcome/Failure.ts'
import * as Outcome from '../outcome/Outcome.ts'
import { closed } from '../outcome/Refusal.ts'
import { ledger } from '../outcome/Totals.ts'
import type { Verdict } from '../outcome/Verdict.ts'
import { deadlineOf } from '../policy/deadlineOf.ts'
import { step } from '../policy/step.ts'
import type { Entry } from '../sink/Outbox.ts'
import { nothingToCancel } from '../sink/Run.ts'
import type { Relay, RelayOptions } from './RelayContract.ts'
import { rounds } from './rounds.ts'
import { ASK_AGAIN_AFTER, writes } from './writes.ts'

/** After so many starts the event loop has its turn, so that many retries due at once are no stall. */
const STARTS_A_TURN = 1_000

/** Makes a relay over an outbox. What the outbox held already is worked too. */
export const relay = <A>(options: RelayOptions<A>): Relay<A> => {
  const { outbox, retry, clock, random } = options
  const now = steady(clock)
  const window = deadlineOf(retry)
  const books = ledger(outbox.stats().waiting)
  const retrySlots = Math.max(1, Math.floor(options.inRound / 2))
  const watchers = new Set<() => void>()
  let mode: 'open' | 'refusing' | 'resting' = 'open'
  let pumping = false
  let taking = false
  let timer: Cancel = nothingToCancel
  let timerAt = Infinity

  const tell = (happening: Happening): void => {
    try {
      options.tell?.(happening)
    } catch {
      // Who listens must not harm who delivers (CL5), and there is nobody left to tell.
    }
  }
  const defect = (where: string, error: unknown): void => {
    tell({ _tag: 'Defect', at: now(), where, error })
  }
  const changed = (): void => {
    for (const watcher of watchers) watcher()
  }
  const store = writes(clock, (error) => {
    defect('outbox', error)
  })

  const announce = (outcome: Outcome.Outcome<A>): void => {
    books.end(outcome)
    tell({ _tag: 'Ended', at: now(), outcome })
    try {
      options.ended(outcome)
    } catch (error) {
      defect('outcome listener', error)
    }
  }

  const finish = (entry: Entry<A>, outcome: Outcome.Outcome<A>): void => {
    store.commit(
      () => outbox.end(entry, outcome),
      () => {
        announce(outcome)
        pump()
      },
    )
  }

  const settled = (entry: Entry<A>, since: number, verdict: Verdict): void => {
    const at = now()
    const { item } = entry
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
        const { attempts, last: failure } = progress
        tell({ _tag: 'Waiting', at, item, attempts, failure, delay, because })
        store.commit(() => outbox.park({ id: entry.id, item, since, progress }, due), pump)
      }
    }
  }

  const round = rounds(options.sink, {
    settled,
    rested: changed,
    defect,
  })

  const start = (entry: Entry<A>): void => {
    const at = now()
    const since = entry.since ?? at
    // DE4: what was never attempted does not expire; what waited beyond its deadline (while nobody ran) does.
    if (entry.progress !== undefined && at >= since + window) {
      const { attempts, last } = entry.progress
      finish(entry, Outcome.expired(entry.item, Failure.expired(attempts, since, last)))
    } else {
      round.start(entry, since, since + window)
    }
  }

  /** Takes up to `most` entries that are due and starts them. Answers how many; 0 too when the store answers later. */
  const startDue = (most: number): number => {
    const free = Math.min(options.inRound - round.inRound(), most)
    const at = now()
    if (mode === 'resting' || taking || free <= 0 || (outbox.nextDue() ?? Infinity) > at) return 0
    let started = 0
    taking = true
    whenAnswered(
      () => outbox.take(at, free, Math.max(0, retrySlots - round.retries())),
      (entries) => {
        started = entries.length
        for (const entry of entries) start(entry)
        // Only now: what was taken and not yet started must not look like rest.
        taking = false
        if (!pumping && started > 0) pump()
      },
      (error) => {
        taking = false
        defect('outbox', error)
        wakeAt(now() + ASK_AGAIN_AFTER)
      },
    )
    return started
  }

  const pump = (): void => {
    if (pumping) return
    pumping = true
    let left = STARTS_A_TURN
    for (let started = startDue(left); started > 0; started = startDue(left)) left -= started
    pumping = false
    const due = outbox.nextDue()
    if (left <= 0) wakeAt(now())
    else if (due !== undefined && due > now()) wakeAt(due)
    changed()
  }

  /** One timer for all that is parked. */
  const wakeAt = (due: number): void => {
    if (due >= timerAt || mode === 'resting') return
    timer()
    timerAt = due
    timer = clock.schedule(due - now(), () => {
      timerAt = Infinity
      pump()
    })
  }

  const accept = (entry: Entry<A>): void => {
    books.accept()
    tell({ _tag: 'Accepted', at: now(), item: entry.item })
    pump()
  }

  /** Ends as abandoned what was cut off in a round and what still waited. */
  const handBack = (cut: ReadonlyArray<Entry<A>>, then: (items: ReadonlyArray<A>) => void): void => {
    const abandonedOf = ({ item, progress }: Entry<A>): Outcome.Outcome<A> =>
      Outcome.abandoned(item, progress?.attempts ?? 0, progress?.last)
    for (const entry of cut)
      store.commit(
        () => outbox.end(entry, abandonedOf(entry)),
        () => undefined,
      )
    whenAnswered(
      outbox.abandon,
      (waiting) => {
        const all = [...cut, ...waiting]
        for (const entry of all) announce(abandonedOf(entry))
        then(all.map((entry) => entry.item))
      },
      (error) => {
        defect('outbox', error)
        then([])
      },
    )
  }

  pump()

  return {
    offer: (item) => {
      if (mode !== 'open') return left(closed(item))
      const kept = outbox.append(item)
      if ('then' in kept) {
        return kept.then((answer) => {
          if (!isLeft(answer)) accept(answer.right)
          return answer
        })
      }
      if (!isLeft(kept)) accept(kept.right)
      return kept
    },
    refuse: () => {
      if (mode === 'open') mode = 'refusing'
    },
    rest: () => {
      mode = 'resting'
      timer()
    },
    brake: (then) => {
      mode = 'resting'
      timer()
      store.giveUp()
      const cut = round.cancelAll()
      if (outbox.durable) then([])
      else handBack(cut, then)
    },
    active: (instant) =>
      round.inRound() > 0 ||
      store.pending() > 0 ||
      taking ||
      (mode !== 'resting' && (outbox.nextDue() ?? Infinity) < instant),
    running: round.running,
    onChange: (listener) => {
      watchers.add(listener)
      return () => {
        watchers.delete(listener)
      }
    },
    redrive: async (matches) => {
      const count = await outbox.dead.redrive(matches)
      for (let i = 0; i < count; i++) books.accept()
      pump()
      return count
    },
    report: tell,
    totals: books.totals,
    now,
  }
}
