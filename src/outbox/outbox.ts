/**
 * The contract of an outbox: where accepted items wait until they end. A relay leases entries from it,
 * delivers them, and acks or nacks each one.
 *
 *     enqueue ─▶ waiting ─▶ lease ─▶ in flight ─┬─▶ ack    ended; rejected and expired items are dead letters
 *                   ▲                           │
 *                   └──────────── nack ◀────────┘          waits again until it is due
 *
 * @module
 */

import type { Either } from '../core/either.ts'
import type { Awaitable } from '../core/awaitable.ts'
import type { Clock } from '../core/clock.ts'
import { hasFunctions } from '../core/json.ts'
import type { WaitOptions } from '../core/options.ts'
import { carried, retryable } from '../core/failure.ts'
import { abandoned, type Outcome, type Progress } from '../core/outcome.ts'
import type { Bounds, Full } from '../core/refusal.ts'

/** An item in an outbox, as plain data: all of it survives a restart if the outbox is durable. */
export interface Entry<out A> {
  /** Unique in its outbox. */
  readonly id: string
  readonly item: A
  /** When the first attempt started, milliseconds since 1970. Undefined until a `nack` stores it. */
  readonly firstAttemptAt: number | undefined
  /** The failed attempts so far. Undefined before the first failure. */
  readonly progress: Progress | undefined
}

/**
 * The contents of an outbox and its bounds. A hint in a shared store: own changes count at once, those of
 * others within 5 s, or 100 times what a count takes if that is longer.
 */
export interface OutboxStats extends Bounds {
  /** Items that were enqueued and have not ended. Includes leased ones. */
  readonly waiting: number
  readonly bytes: number
  readonly dead: number
  /** Dead letters that were deleted to make room for newer ones. Left out if they are not counted. */
  readonly evictedDeadLetters?: number
}

/** An item that was rejected or expired. */
export interface EndedDeadLetter<out A> {
  readonly reason: 'ended'
  /** Unique among the dead letters of its outbox. */
  readonly id: string
  /** When it ended, milliseconds since 1970. */
  readonly at: number
  readonly entry: Entry<A>
  readonly outcome: Outcome<A>
}

/** A stored record that cannot be read. `redrive` leaves it, `purge` removes it. */
export interface CorruptDeadLetter {
  readonly reason: 'corrupt'
  readonly id: string
  /** When it was found, milliseconds since 1970. */
  readonly at: number
  /** The start of the record as it is stored, with bytes that are not text replaced. */
  readonly raw: string
}

/** An item that ended without success and is kept for inspection. */
export type DeadLetter<A> = EndedDeadLetter<A> | CorruptDeadLetter

/** Which dead letters to list. */
export interface DeadPage {
  /** Continue after the dead letter with this id, which may be deleted by now. Default: from the oldest. */
  readonly after?: string
  /** The maximum number of dead letters. Default 1,000. */
  readonly limit?: number
}

/** The default page size of `dead.list`. */
export const DEAD_PAGE = 1_000

/** The dead letters of an outbox, oldest first. */
export interface DeadLetters<A> {
  /** One page. A page shorter than its limit is the last. */
  readonly list: (page?: DeadPage) => Awaitable<ReadonlyArray<DeadLetter<A>>>
  /** Moves matching items back to wait, as new ones, while there is room. Answers the ids that they had. */
  readonly redrive: (matches: (deadLetter: EndedDeadLetter<A>) => boolean) => Awaitable<ReadonlyArray<string>>
  /** Deletes matching dead letters. Answers how many. */
  readonly purge: (matches: (deadLetter: DeadLetter<A>) => boolean) => Awaitable<number>
}

/** Which entries a `lease` may hand out. */
export interface LeaseLimits {
  /** The maximum number of entries. */
  readonly count: number
  /** The maximum number of retries among them. */
  readonly retries: number
  /** Hand out no new entries. Default false. */
  readonly retriesOnly?: boolean
}

/**
 * Where accepted items wait. Implement it to keep them in a database or a broker.
 *
 * An answer that is not a promise means: done. A promise is fulfilled when the change is done, and durable
 * if the outbox is. A rejection means that the store failed: the relay logs it and asks again, but answers
 * `NotStored` for an `enqueue`. Each list is meant to be one transaction or one round trip; it may be empty.
 *
 * Each entry is leased to one relay at a time. A leased entry that was neither acked nor nacked waits again
 * when the outbox is reopened, or when its lease has expired. An outbox with expiring leases renews them
 * itself: a lease holds for its lease time after the last sign of life of its process. A late `ack` or `nack`
 * of an entry that was leased to another relay meanwhile is fulfilled and changes nothing.
 */
export interface Outbox<A> {
  /**
   * For an outbox that opens later: done when it is open. Asked once, and again a second after a failure.
   * Before, only `keeps`, `watch`, `stats`, `enqueueIn`, `takeRemaining`, `close` are called. Left out: open.
   */
  readonly opened?: () => Awaitable<void>
  /** Whether an entry survives a crash and a close. If not, it ends as `Abandoned` at the close. */
  readonly keeps: (entry: Entry<A>) => boolean
  /** Adds items. One answer for each, in order: its entry, or `Full` if a bound is reached. */
  readonly enqueue: (items: ReadonlyArray<A>) => Awaitable<ReadonlyArray<Either<Full, Entry<A>>>>
  /**
   * Hands out entries that are due at `now`: first retries by due time, then new ones in the order of
   * `enqueue`. A part of them is enough: the relay asks again at once while `nextDue` says now. After none
   * it asks when a delivery ends, an item comes, or a second later.
   */
  readonly lease: (now: number, limits: LeaseLimits) => Awaitable<ReadonlyArray<Entry<A>>>
  /** Puts leased entries back, with their new progress, until `due` (milliseconds since 1970). */
  readonly nack: (list: ReadonlyArray<Nack<A>>) => Awaitable<void>
  /**
   * Adds all items in a transaction of the host, or none: `Full` comes before any statement. An error of the
   * client is thrown as it is. They are delivered after the commit. Left out: it has no transactions.
   */
  readonly enqueueIn?: (client: TransactionClient, items: ReadonlyArray<A>) => Promise<Either<Full, void>>
  /** Removes leased entries that have ended. Rejected and expired ones become dead letters. */
  readonly ack: (list: ReadonlyArray<Ack<A>>) => Awaitable<void>
  /** Adds a dead letter for an item that found no room. Left out: a collector needs `whenFull: 'refuse'`. */
  readonly addDeadLetter?: (item: A, outcome: Outcome<A>) => Awaitable<void>
  /** Removes and answers all entries that are not leased, at a close. A durable outbox answers none. */
  readonly takeRemaining: () => Awaitable<ReadonlyArray<Entry<A>>>
  /**
   * When `lease` next has an entry, milliseconds since 1970: 0 for now, undefined for never or when `watch`
   * says so. It may be early, but not after a lease of all that was due, and never late. With `retriesOnly`
   * new entries do not count.
   */
  readonly nextDue: (retriesOnly?: boolean) => number | undefined
  /**
   * For an outbox that others change too: calls `lookAgain` when there may be new entries or new room, at
   * any time. The caller asks the outbox a turn later, and does not ask inside `lookAgain`.
   */
  readonly watch?: (lookAgain: () => void) => () => void
  /**
   * For an outbox with `watch` that keeps its entries: done when all that waits in it now has ended, in any
   * process, and each `ack` of it was answered. A `flush`, an `idle` and the end of a `deliver` wait for it.
   * Left out: until nothing waits at all.
   */
  readonly allEnded?: () => Promise<void>
  /**
   * The entries that wait for a retry, of a durable outbox that does not order by itself. `orderBy` asks
   * once, before the first lease: after a restart nothing of their key overtakes them. Default: none.
   */
  readonly retries?: () => Iterable<Entry<A>>
  /** It keeps the order within a key by itself: an entry is leased after the one before it has ended. */
  readonly orders?: true
  readonly dead: DeadLetters<A>
  /** The counts and bounds. The counts of an outbox that opens later are zero until it is open. */
  readonly stats: () => OutboxStats
  /** Releases resources and deletes nothing. Idempotent. Open writes are finished, also after `timeout`. */
  readonly close: (options?: WaitOptions) => Promise<void>
}

/** Runs a statement of the host's transaction. Parameters are `$1`, `$2`, …; arrays stay arrays. @inline */
export type RunStatement = (text: string, values: unknown[]) => unknown

/**
 * A transaction of the host, over any driver: a client of pg, a function that runs a statement in it, or an
 * object with `executeSql`.
 */
export type TransactionClient =
  RunStatement | { readonly query: RunStatement } | { readonly executeSql: RunStatement }

/** A short text under a name, stored beside items, such as a position in an input. */
export interface Bookmark {
  readonly name: string
  readonly value: string
}

/** An outbox on a disk or a server, which keeps bookmarks beside its items. */
export interface BookmarkedOutbox<A> extends Outbox<A> {
  /**
   * A bookmark is stored in the transaction of its items, and not if none of them had room. After a call
   * that failed none is stored any more until the outbox is opened anew: a later one would skip its items.
   */
  readonly enqueue: (
    items: ReadonlyArray<A>,
    beside?: { readonly bookmark?: Bookmark },
  ) => Awaitable<ReadonlyArray<Either<Full, Entry<A>>>>
  /** The value that was last stored under this name. */
  readonly bookmark: (name: string) => Awaitable<string | undefined>
  /** Stores a bookmark by itself. */
  readonly remember: (bookmark: Bookmark) => Promise<void>
}

/** An outbox to which a transaction of the host can add. */
export interface TransactionalOutbox<A> extends Outbox<A> {
  readonly enqueueIn: NonNullable<Outbox<A>['enqueueIn']>
}

/** An entry to put back. */
export interface Nack<out A> {
  readonly entry: Entry<A>
  readonly due: number
}

/** An entry that has ended. */
export interface Ack<out A> {
  readonly entry: Entry<A>
  readonly outcome: Outcome<A>
}

const REQUIRED = ['keeps', 'enqueue', 'lease', 'nack', 'ack', 'takeRemaining', 'nextDue', 'stats', 'close']

/** Outboxes on which a part works, until it is closed or ends, and what a redrive by the host calls. */
export const inUse = new WeakMap<object, () => void>()

/** Whether a value has the functions of an outbox. */
export const isOutbox = (value: unknown): value is Outbox<unknown> => hasFunctions(value, REQUIRED)

/** An entry that was never leased. */
export const newEntry = <A>(id: string, item: A): Entry<A> => {
  return { id, item, firstAttemptAt: undefined, progress: undefined }
}

export const CUT = retryable('closed', { detail: 'its attempt was cut by the close; it may have arrived' })

/** The outcome of an entry that is handed back undelivered. `isCut`: its attempt got no verdict. */
export const abandonedOf = <A>({ item, progress }: Entry<A>, isCut = false): Outcome<A> => {
  const { attempts = 0, lastFailure } = progress ?? {}
  return abandoned(item, attempts + Number(isCut), isCut ? carried(lastFailure, CUT) : lastFailure)
}

/** How an item becomes text and is read back. Its UTF-8 bytes are stored; half a character is refused. */
export interface ItemCodec<A> {
  /** One line or many; `fromText` gets the same text. */
  readonly toText: (item: A) => string
  /** May throw: then the record ends as a dead letter of reason `corrupt`. */
  readonly fromText: (text: string) => A
  /** The bytes of an item in `maxBytes`, from 0. An item with another answer is refused. */
  readonly sizeOf: (item: A) => number
  /** The kind of items, in a word or two: a folder of another kind is not opened. Default `items`. */
  readonly kind?: string
}

/** A stored record that could not be read, and ended as a dead letter of reason `corrupt`. */
export interface CorruptRecord {
  /** The id of its entry. */
  readonly id: string
  /** As `CorruptDeadLetter.raw`. */
  readonly raw: string
}

/** The arguments of a factory: how items are stored, and for which user. */
export interface OutboxFactoryOptions<A> {
  /** Stores items as text. Store its `kind` too, and throw if the queue holds items of another kind. */
  readonly codec: ItemCodec<A>
  /**
   * The key of an item, given if the order within a key is wanted. An outbox that keeps it says
   * `orders: true`; the caller orders the others within this process. Throw if neither will do.
   */
  readonly keyOf?: (item: A) => string | undefined
  /** Default the machine's clock. */
  readonly clock?: Clock
  /** The user of the outbox, in a word that is no secret: for a destination of a collector its name. */
  readonly owner?: string
  /** Receives each leased record that could not be read, after its end as a dead letter. */
  readonly onCorrupt?: (record: CorruptRecord) => void
}

/** Makes an outbox. Its caller closes it. */
export type OutboxFactory<A> = (of: OutboxFactoryOptions<A>) => Outbox<A>
