import type { Either } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../core/clock.ts'
import type { Awaitable } from '../../core/awaitable.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { Full } from '../../core/refusal.ts'
import type * as New from '../outbox.ts'
import type { Entry, Outbox, OutboxStats } from '../oldOutbox.ts'

/** How an item becomes text and comes back. The text is kept as its UTF-8 bytes, and these come back unchanged. */
export interface ItemCodec<A> {
  readonly toText: (item: A) => string
  /** May throw: then that record goes aside, and only that one. */
  readonly fromText: (text: string) => A
  /** What the item counts for in `maxBytes`, a number from 0. An item of which the codec answers something else is not taken. */
  readonly sizeOf: (item: A) => number
  /** What the item counts for in `maxCount` and in `waiting`, a whole number from 1: more than 1 for one that holds several. Default 1. */
  readonly countOf?: (item: A) => number
  /** What lies in the store, in a word or two: a folder with another kind is not opened with this codec. Default `items`. */
  readonly kind?: string
  /** The dead letters of an item that ended badly: those of its parts, for example. Default the one outcome as it is. */
  readonly lettersOf?: (outcome: Outcome<A>) => ReadonlyArray<Outcome<A>>
}

/** What a stored outbox is opened with. */
export interface LmdbOutboxOptions<A> {
  /** A folder of its own; made if it is not there. */
  readonly path: string
  readonly codec: ItemCodec<A>
  /** How many items may wait; default 2,000,000. */
  readonly maxCount?: number
  /** How many bytes may wait, as the codec counts them; default 8,589,934,592, that is 8 GiB. */
  readonly maxBytes?: number
  /** How many dead letters are kept for a second look; the oldest makes room and is counted. 0 keeps none. Default 100,000. */
  readonly keepDead?: number
  /**
   * Whose outbox it is, in a word that is no secret: a folder in which something lies that belongs to another owner is not opened. Default
   * for a destination of a collector its name, so set it to keep a folder through a new name; else none, which may open any.
   */
  readonly owner?: string
  /** Says when the store was opened and when a letter died; default the machine's clock. */
  readonly clock?: Clock
}

/** A folder on a disk in which something waits. It needs the package lmdb, an optional dependency. */
export interface StoredIn extends Pick<
  LmdbOutboxOptions<never>,
  'path' | 'maxCount' | 'maxBytes' | 'keepDead' | 'owner'
> {
  readonly enqueue?: never
}

/** Whether something waits in a folder, and not in an outbox that is there already. */
export const isStoredIn = (outbox: object | undefined): outbox is StoredIn =>
  outbox !== undefined && !('enqueue' in outbox)

/** A short text under a name that is not empty, kept beside the items: how far an input was read, for example. All of them are in memory too, so use few names. */
export interface Bookmark {
  readonly name: string
  readonly value: string
}

/** What may come with an item. */
export interface AppendOptions {
  /** Is written in the same transaction as the item: both are there or neither is. */
  readonly bookmark?: Bookmark
}

/** The figures of a stored outbox; they outlive the process. */
export interface LmdbOutboxStats extends OutboxStats {
  readonly unreadable: number
  /** Records that could not be read, and were put aside in the store: dead letters, and what waited, which still counts as waiting. */
  readonly quarantined: number
  /** Dead letters that made room for newer ones. */
  readonly evictedDeadLetters: number
}

/** An outbox on a disk. Every promise of it is fulfilled when its write has been synced. */
export interface OldLmdbOutbox<A> extends Outbox<A> {
  /** Do not change an item that was given: the few that were appended last are handed out as they are, and not read back. */
  readonly append: (item: A, options?: AppendOptions) => Awaitable<Either<Full, Entry<A>>>
  readonly bury: NonNullable<Outbox<A>['bury']>
  /** The value that was last written under this name. */
  readonly bookmark: (name: string) => string | undefined
  /** All of them, by name. */
  readonly bookmarks: () => ReadonlyMap<string, string>
  /** Writes a bookmark by itself. */
  readonly remember: (bookmark: Bookmark) => Promise<void>
  /** Takes a bookmark away. */
  readonly forget: (name: string) => Promise<void>
  /**
   * Forgets the records that could not be read (`quarantined`); what waits is counted anew then, which takes as long as reading all of it.
   * Answers how many there were.
   */
  readonly discardUnreadable: () => Promise<number>
  readonly stats: () => LmdbOutboxStats
}

/** An outbox on a disk. Every promise of it is fulfilled when its write has been synced. */
export interface LmdbOutbox<A>
  extends
    Omit<New.Outbox<A>, 'stats'>,
    Pick<OldLmdbOutbox<A>, 'bookmark' | 'bookmarks' | 'remember' | 'forget' | 'discardUnreadable' | 'stats'> {
  readonly enqueue: (items: ReadonlyArray<A>, options?: AppendOptions) => ReturnType<New.Outbox<A>['enqueue']>
  readonly addDeadLetter: NonNullable<New.Outbox<A>['addDeadLetter']>
}
