/** The old contract, for the old lmdb store and the old client until both are rewritten. Delete with them. */

import type { Either } from 'fp-ts/lib/Either.js'
import type { Task } from 'fp-ts/lib/Task.js'
import { isPromiseLike } from '../core/awaitable.ts'
import type { Awaitable } from '../core/awaitable.ts'
import type { Cancel } from '../core/clock.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Full } from '../core/refusal.ts'
import type * as New from './outbox.ts'
import { DEAD_PAGE } from './outbox.ts'
import type { DeadPage, Entry } from './outbox.ts'
import { heap } from '../core/heap.ts'
import { queue } from '../core/queue.ts'

export { DEAD_PAGE }
export type { DeadPage, Entry }

/**
 * How much waits, and what the bounds are. Exact in what this process did. What others do to a shared store may show later, but within
 * seconds, and a store that answered `Full` shows at once that it is full.
 */
export interface OutboxStats {
  /** Appended and not ended. */
  readonly waiting: number
  /** Of these, so many that cannot be read, so that `take` will not hand them out; default none. */
  readonly unreadable?: number
  readonly bytes: number
  readonly dead: number
  /** Dead letters that made room for newer ones; left out by those who do not count them. */
  readonly evictedDeadLetters?: number
  readonly maxCount: number
  readonly maxBytes: number
}

/** Ended badly, and kept for a second look. */
export interface DeadLetter<out A> {
  /** Unique among the dead letters of its outbox, for as long as it lies there. */
  readonly id: string
  /** When it ended, milliseconds since 1970. */
  readonly at: number
  readonly entry: Entry<A>
  readonly outcome: Outcome<A>
}

/** The dead letters of an outbox, in the order in which they ended. There may be more of them than memory holds, so they come in pages. */
export interface DeadLetters<A> {
  /** One page. One that is shorter than its limit was the last. */
  readonly list: (page?: DeadPage) => Awaitable<ReadonlyArray<DeadLetter<A>>>
  /**
   * Puts those that match back to wait, with a new deadline. Answers how many. `moved` is told how many wait again before `take` hands
   * them out, if they do so in several steps; then the books are right meanwhile, and also when a later step fails.
   */
  readonly redrive: (
    matches: (letter: DeadLetter<A>) => boolean,
    moved?: (count: number) => void,
  ) => Awaitable<number>
  /** Forgets those that match. Answers how many. */
  readonly purge: (matches: (letter: DeadLetter<A>) => boolean) => Awaitable<number>
}

/**
 * What an outbox says of its own accord, because the relay did not do it: the broker delivered, another process or a transaction of the
 * host appended, the lease of a dead worker ran out, there is room again. All left out means: look again, at `nextDue` and at `stats`.
 */
export interface OutboxChange {
  /**
   * So many entries wait for this relay that it was not told of; they count as accepted in its totals. Announced before `take` hands
   * them out, at the latest before its answer is there; what is announced later is counted when it is handed out, and not twice. What
   * the relay appended is announced only if that append failed, and is handed out only when it was answered.
   */
  readonly arrived?: number
  /**
   * So many entries that this relay counts as waiting, and does not hold, will never be handed to it: another relay has them, and counts
   * them as arrived. They were accepted there, and no longer here. Announced when its append was answered; and of an entry that was
   * lost, when it is parked late, not when it is ended late.
   */
  readonly gone?: number
}

/** What was parked, seen without the rest. */
export interface ParkedEntries<out A> {
  /** When the first of them is due; undefined if there is none. */
  readonly nextDue: () => number | undefined
  /** As `take`, of these alone. */
  readonly take: (now: number, limit: number) => Awaitable<ReadonlyArray<Entry<A>>>
}

/**
 * The contract. An answer that is not a promise means: done. A promise means: done when it is fulfilled, durable if the outbox
 * says so; the relay goes on only then. A rejection is a defect of the store, and the item stays where it was.
 *
 * Each entry is handed to one relay at a time. What a relay took and neither parked nor ended is there again when the outbox is opened
 * anew, or when its lease has run out; an outbox with leases renews them by itself, for all that it handed out and that was neither
 * parked nor ended. An entry that was lost to another relay meanwhile changes nothing when it is parked or ended late: the answer is
 * fulfilled, and nothing is written.
 *
 * Without `watch` one relay works an outbox, and all that it holds when that relay is made counts as accepted before. With it several may
 * share a store. Then each entry is in the books of one relay: the one that appended it, until it is handed to another one, which
 * counts it from there on. Who held it when it was lost, and ended it late, has counted its end too (DE6).
 */
export interface Outbox<A> {
  /** Whether what was appended survives a crash. */
  readonly durable: boolean
  /**
   * Takes an item into keeping, or answers that the bound is reached. An outbox may take more beside the item, by a second parameter that
   * can be left out: a transaction of the host, in which the item is kept. Such an append goes past the relay, and comes to it by `watch`.
   */
  readonly append: (item: A) => Awaitable<Either<Full, Entry<A>>>
  /**
   * Hands out up to `limit` entries that are due at `now`: first those that were parked, at most `parked` of them and by due
   * time, then the new ones in the order of their append. If there are not enough new ones, parked ones do not fill up.
   */
  readonly take: (now: number, limit: number, parked: number) => Awaitable<ReadonlyArray<Entry<A>>>
  /** Puts back an entry that was taken, with its new progress, until `due` (milliseconds since 1970). */
  readonly park: (entry: Entry<A>, due: number) => Awaitable<void>
  /** Ends an entry that was taken. A rejected or expired one goes to the dead letters. */
  readonly end: (entry: Entry<A>, outcome: Outcome<A>) => Awaitable<void>
  /**
   * Puts an item that was never let in among the dead letters: there was no room for it, and it shall not be lost (CO1). An outbox
   * without this keeps none: then its outcome is all that is left of it.
   */
  readonly bury?: (item: A, outcome: Outcome<A>) => Awaitable<void>
  /**
   * When `take` will next have something, as far as is known here: 0 for now, undefined for never, or for when `watch` says so. After a
   * `take` that brought nothing it lies ahead; a relay that is told of the past again asks again after a second.
   */
  readonly nextDue: () => number | undefined
  /**
   * Has `listener` called when there is news, at any time, also before this returns; answers how to take it away, which may be asked inside
   * the listener. The listener only takes note: the relay looks a turn later, once for however much was said, so nothing is asked
   * of the outbox inside it. What is said in answer to `nextDue` would make it look for ever. A relay listens from when it is made until it was braked and has handed everything back. With `watch`, what
   * the outbox held already is announced too. Left out: nothing comes to this outbox past its relay.
   */
  readonly watch?: (listener: (news?: OutboxChange) => void) => Cancel
  /**
   * For a store that holds more than memory does: who keeps an order waits for a retry with it, and leaves the new ones where they are. Without
   * it, what waits behind a retry is held in memory.
   */
  readonly parked?: ParkedEntries<A>
  /** Takes out all that is neither taken nor ended: what a close hands back. A durable outbox keeps it and answers nothing. */
  readonly abandon: () => Awaitable<ReadonlyArray<Entry<A>>>
  readonly dead: DeadLetters<A>
  readonly stats: () => OutboxStats
  /** Releases what it holds. Deletes nothing. Idempotent. */
  readonly close: Task<void>
}

/** Entries that wait in memory: the new ones in the order of their coming, the parked ones by due time. */
export interface WaitingLine<A> {
  readonly enter: (entry: Entry<A>) => void
  readonly park: (entry: Entry<A>, due: number) => void
  /** As `Outbox.take` says. */
  readonly take: (now: number, limit: number, mostParked: number) => ReadonlyArray<Entry<A>>
  /** As `Outbox.nextDue` says. */
  readonly nextDue: () => number | undefined
  /** Takes out all that match. */
  readonly withdraw: (matches: (entry: Entry<A>) => boolean) => ReadonlyArray<Entry<A>>
  /** Takes out everything: first what was parked, then the new ones in their order. */
  readonly drain: () => ReadonlyArray<Entry<A>>
}

/** An empty line. Enter and take are O(1) for each entry, park is O(log n), and withdraw is O(n). */
export const waitingLine = <A>(): WaitingLine<A> => {
  const fresh = queue<Entry<A>>()
  const parked = heap<Entry<A>>()

  return {
    enter: fresh.push,
    park: (entry, due) => {
      parked.push(due, entry)
    },
    take: (now, limit, mostParked) => {
      const taken: Array<Entry<A>> = []
      const parkedLimit = Math.min(limit, mostParked)
      while (taken.length < parkedLimit && (parked.peekKey() ?? Infinity) <= now) {
        const entry = parked.pop()
        if (entry !== undefined) taken.push(entry)
      }
      while (taken.length < limit) {
        const entry = fresh.shift()
        if (entry === undefined) break
        taken.push(entry)
      }
      return taken
    },
    nextDue: () => (fresh.size() > 0 ? 0 : parked.peekKey()),
    withdraw: (matches) => {
      const gone = [...parked.remove(matches)]
      for (const entry of fresh.drain()) {
        if (matches(entry)) gone.push(entry)
        else fresh.push(entry)
      }
      return gone
    },
    drain: () => [...parked.drain(), ...fresh.drain()],
  }
}

export const later = <T, B>(
  all: ReadonlyArray<Awaitable<T>>,
  use: (all: ReadonlyArray<T>) => B,
): Awaitable<B> =>
  all.some(isPromiseLike)
    ? Promise.all(all).then(use)
    : // None of them is a promise.
      use(all as ReadonlyArray<T>)

const nothing = (): void => undefined

/** An old outbox under the new contract. */
export const fromOld = <A>(old: Outbox<A>): New.Outbox<A> => {
  const { bury, watch, parked } = old
  return {
    durable: old.durable,
    enqueue: (items) =>
      later(
        items.map((item) => old.append(item)),
        (all) => all,
      ),
    lease: (now, { count, retries, retriesOnly }) =>
      retriesOnly === true && parked !== undefined
        ? parked.take(now, Math.min(count, retries))
        : old.take(now, count, retries),
    nack: (list) =>
      later(
        list.map(({ entry, due }) => old.park(entry, due)),
        nothing,
      ),
    ack: (list) =>
      later(
        list.map(({ entry, outcome }) => old.end(entry, outcome)),
        nothing,
      ),
    ...(bury === undefined ? {} : { addDeadLetter: bury }),
    ...(watch === undefined
      ? {}
      : {
          watch: (lookAgain: () => void) =>
            watch(() => {
              lookAgain()
            }),
        }),
    takeRemaining: old.abandon,
    nextDue: (retriesOnly) =>
      retriesOnly === true && parked !== undefined ? parked.nextDue() : old.nextDue(),
    dead: {
      list: (page) => {
        const mark = (all: ReadonlyArray<DeadLetter<A>>): ReadonlyArray<New.DeadLetter<A>> =>
          all.map((each) => ({ reason: 'ended' as const, ...each }))
        const all = old.dead.list(page)
        return isPromiseLike(all) ? all.then(mark) : mark(all)
      },
      redrive: (matches) => old.dead.redrive((each) => matches({ reason: 'ended', ...each })),
      purge: (matches) => old.dead.purge((each) => matches({ reason: 'ended', ...each })),
    },
    stats: old.stats,
    close: old.close,
  }
}
