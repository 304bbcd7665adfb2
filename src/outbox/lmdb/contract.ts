import type { Type } from 'io-ts'
import { optional, strict, text, wholeNumber, type Option } from '../../core/options.ts'
import { ShownError } from '../../core/refusal.ts'
import type { ItemBatch, Payload } from '../../event/payload.ts'
import type { BookmarkedOutbox, ItemCodec, Outbox, OutboxFactoryOptions, OutboxStats } from '../outbox.ts'

/** An io-ts codec of an outbox's items: of those of its payloads or batches, or of its own. @inline */
export type CodecOf<A> =
  A extends Payload<infer I> ? Type<I, unknown> : A extends ItemBatch<infer I> ? CodecOf<I> : Type<A, unknown>

/** How a stored outbox is opened. */
export interface LmdbOutboxOptions<A> extends Pick<OutboxFactoryOptions<A>, 'clock' | 'onCorrupt'> {
  /** A folder of its own; made if it is missing. */
  readonly path: string
  /**
   * An io-ts codec of the items, or of the items of payloads and batches: they come back as it decodes them.
   * Default: items are stored as JSON, and one that JSON would change, such as a `Date`, is refused with its
   * path.
   */
  readonly item?: CodecOf<A>
  /** Another form than JSON, in place of `item`. */
  readonly codec?: ItemCodec<A>
  /** How many items may wait; default 2,000,000. */
  readonly maxCount?: number
  /** How many bytes may wait, as the codec counts them; default 8,589,934,592 (8 GiB). */
  readonly maxBytes?: number
  /**
   * How many dead letters are kept; the oldest make room and are counted. 0 keeps none. The folder keeps the
   * bound too. Default the last one that it was given, or 100,000.
   */
  readonly keepDead?: number
  /**
   * The owner of the outbox, in a word that is no secret: a folder with items of another owner is not opened.
   * Default none, which opens any folder; for a destination of a collector its name.
   */
  readonly owner?: string
}

/** A folder on a disk in which items wait. Needs the package lmdb, an optional peer dependency. */
export interface StoredIn extends Pick<
  LmdbOutboxOptions<never>,
  'path' | 'maxCount' | 'maxBytes' | 'keepDead' | 'owner'
> {
  readonly enqueue?: never
}

/** The counts of a stored outbox; they outlive the process. */
export interface LmdbOutboxStats extends OutboxStats {
  /** Dead letters that made room for newer ones. */
  readonly evictedDeadLetters: number
}

/** An outbox on a disk. Each promise resolves when its write has been synced. */
export interface LmdbOutbox<A> extends BookmarkedOutbox<A> {
  /** Do not change an item that was given: a lease may answer the same object. */
  readonly enqueue: BookmarkedOutbox<A>['enqueue']
  readonly addDeadLetter: NonNullable<Outbox<A>['addDeadLetter']>
  readonly bookmark: (name: string) => string | undefined
  /** The counters, as they are now. */
  readonly stats: () => LmdbOutboxStats
}

/** The options of a folder, as an option of a client, a destination or a collector. */
export const storedIn: Option<StoredIn> = strict({
  path: text,
  maxCount: optional(wholeNumber('items', 1)),
  maxBytes: optional(wholeNumber('bytes', 1)),
  keepDead: optional(wholeNumber('items', 0)),
  owner: optional(text),
})

/** The fault, in one word that is stable. @inline */
export type OutboxReason =
  /** The package lmdb, or its build for this machine, is not installed. */
  | 'missing'
  /** Another process, or this one, has it open. */
  | 'inUse'
  /** The folder cannot be made, read or written. */
  | 'noAccess'
  /** The folder holds a file that headrace did not write. */
  | 'notAnOutbox'
  /** It holds other items: messages of a client, for example, and not events of a destination. */
  | 'otherKind'
  /** Its items belong to another owner. */
  | 'otherOwner'
  /** A newer headrace wrote it. */
  | 'newerVersion'
  /** Part of it is missing or cannot be read. */
  | 'damaged'
  /** The disk is full. */
  | 'noSpace'

/** Why an outbox could not be opened. Its items are as they were. */
export interface OutboxFault {
  readonly _tag: 'OutboxFault'
  readonly reason: OutboxReason
  /** The folder. */
  readonly path: string
  /** The fault and its remedy, for people. */
  readonly message: string
}

/** Thrown by each part that opens a folder. `code` and `reason` are stable. */
export class OutboxError extends ShownError {
  override readonly name = 'OutboxError'
  readonly code = 'HEADRACE_OUTBOX'
  readonly reason: OutboxReason
  /** The folder. */
  readonly path: string

  constructor(reason: OutboxReason, path: string, message: string) {
    super(message)
    this.reason = reason
    this.path = path
  }
}
