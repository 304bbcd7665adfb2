/** What an outbox is made for, and the function that makes it. */
import type { Clock } from '../core/clock.ts'
import type { Outbox } from './outbox.ts'

/** How an item becomes text and is read back. The text is stored as its UTF-8 bytes, unchanged. */
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

/** What an outbox is made for. */
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
