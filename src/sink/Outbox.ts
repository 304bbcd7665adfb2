/**
 * Where accepted items wait, with a due time, until they end. One contract for memory, disk and servers.
 *
 * @module
 */
import type { Either } from 'fp-ts/lib/Either.js'
import type { Task } from 'fp-ts/lib/Task.js'
import type { Awaitable } from '../internal/Awaitable.ts'
import type { Outcome } from '../outcome/Outcome.ts'
import type { Progress } from '../outcome/Progress.ts'
import type { Full } from '../outcome/Refusal.ts'

/** An item in an outbox: all that survives a restart. */
export interface Entry<out A> {
  /** Unique in its outbox. */
  readonly id: string
  readonly item: A
  /** When the first attempt started, milliseconds since 1970; undefined before the first write that follows it (DE4). */
  readonly since: number | undefined
  readonly progress: Progress | undefined
}

/** How much waits, and what the bounds are. */
export interface OutboxStats {
  /** Appended and not ended. */
  readonly waiting: number
  readonly bytes: number
  readonly dead: number
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

/** Which dead letters to list. */
export interface DeadPage {
  /** Go on after the letter with this id, which may be gone by now; default from the first. */
  readonly after?: string
  /** At most so many; default 1,000. */
  readonly limit?: number
}

/** So many dead letters are listed at once if nothing else is said. */
export const DEAD_PAGE = 1_000

/** The dead letters of an outbox, in the order in which they ended. There may be more of them than memory holds, so they come in pages. */
export interface DeadLetters<A> {
  /** One page. One that is shorter than its limit was the last. */
  readonly list: (page?: DeadPage) => Awaitable<ReadonlyArray<DeadLetter<A>>>
  /** Puts those that match back to wait, with a new deadline. Answers how many. */
  readonly redrive: (matches: (letter: DeadLetter<A>) => boolean) => Awaitable<number>
  /** Forgets those that match. Answers how many. */
  readonly purge: (matches: (letter: DeadLetter<A>) => boolean) => Awaitable<number>
}

/**
 * The contract. An answer that is not a promise means: done. A promise means: done when it is fulfilled, durable if the outbox
 * says so; the relay goes on only then. A rejection is a defect of the store, and the item stays where it was.
 * One relay works an outbox at a time; what it took and neither parked nor ended is there again when the outbox is opened anew.
 */
export interface Outbox<A> {
  /** Whether what was appended survives a crash. */
  readonly durable: boolean
  /** Takes an item into keeping, or answers that the bound is reached. */
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
  /** When `take` will next have something: 0 for now, undefined for never. */
  readonly nextDue: () => number | undefined
  /** Takes out all that is neither taken nor ended: what a close hands back. A durable outbox keeps it and answers nothing. */
  readonly abandon: () => Awaitable<ReadonlyArray<Entry<A>>>
  readonly dead: DeadLetters<A>
  readonly stats: () => OutboxStats
  /** Releases what it holds. Deletes nothing. Idempotent. */
  readonly close: Task<void>
}
