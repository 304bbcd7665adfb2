/**
 * Which entries make the next delivery, and when. Pure: a take reads a moment and answers one step.
 *
 *     store ──lease──▶ held: retries, fresh ──start──▶ a delivery of one entry, or of a batch
 *
 * @module
 */
import type { ClosedBy } from '../event/payload.ts'
import type { Entry, LeaseLimits } from './outbox.ts'
import { STORE_RETRY_DELAY } from './storeLimit.ts'

/** Entries that are leased here and in no delivery yet. */
export type Line = Readonly<{ count: number; bytes: number }>

/** What a take reads. Stores are asked only where the answer matters, because that costs. */
export interface Moment {
  /** Milliseconds since 1970. */
  readonly now: number
  readonly retries: Line
  readonly fresh: Line
  /**
   * New entries that may wait in the store: `Infinity` if only the store knows. A lease for each new item
   * would cost 5 %.
   */
  readonly unleased: Line
  /** Deliveries without a verdict, and the retries among them. */
  readonly inFlight: number
  readonly retriesInFlight: number
  /** Deliveries that have not ended; some may have their verdict. */
  readonly running: number
  /** How many results too many are not stored yet. */
  readonly behind: number
  /** Retries on their way back into the store: it cannot say when they are due. */
  readonly nacking: number
  /** Whether the store may hand out more than at the last lease, and than at the last one of retries only. */
  readonly mayLease: boolean
  readonly mayLeaseRetries: boolean
  /** Of new entries. */
  readonly lastStart: number
  /** When the first of the new entries came that wait now, or the last ones started. */
  readonly freshSince: number
  /** The receiver asked for a pause until then. */
  readonly heldUntil: number
  /** With one delivery at a time new entries wait for retries until then: for those of others, never. */
  readonly orderedUntil: number
  /** Set while entries wait that a flush or the end wants sent. */
  readonly flushing: 'flush' | 'end' | undefined
  /** When the store next has an entry, and a retry; `Infinity` for never. */
  readonly nextDue: () => number
  readonly nextRetry: () => number
  /** Whether there may be no room for one more item. */
  readonly isFull: () => boolean
}

/** The first entries of a line, at least one, at most `count`, and no more bytes than `bytes`. */
export interface Start {
  readonly do: 'start'
  readonly from: 'retries' | 'fresh'
  readonly count: number
  readonly bytes: number
  readonly closedBy: ClosedBy
}

export type Next = Start | Readonly<{ do: 'lease'; limits: LeaseLimits } | { do: 'wait'; until: number }>

export type Take = (at: Moment) => Next

/** How entries become deliveries. `D` is the item of a delivery. */
export interface Shape<A, D> {
  readonly take: Take
  /** How many results may be unsaved while deliveries go on. A crash repeats their deliveries. */
  readonly maxUnsaved: (isShared: boolean) => number
  /** What an item counts in a line. */
  readonly sizeOf: (item: A) => number
  readonly toItem: (entries: ReadonlyArray<Entry<A>>, closedBy: ClosedBy) => D
  /** The entries are the members of the item: a `PartlyFailed` has a verdict for each. */
  readonly isBatch: boolean
  /** The longest pause that the receiver may ask for with `Retry-After`, for all entries; 0 for none. */
  readonly maxHold: number
}

const waitUntil = (until: number): Next => ({ do: 'wait', until })
export const NOTHING: Line = { count: 0, bytes: 0 }
const NEVER = waitUntil(Infinity)
const start = (from: Start['from'], count: number, bytes: number, closedBy: ClosedBy): Next => {
  return { do: 'start', from, count, bytes, closedBy }
}
const ONE_RETRY = start('retries', 1, Infinity, 'count')
const ONE_FRESH = start('fresh', 1, Infinity, 'count')

/** Deliveries that may have unsaved results, in any outbox. */
export const MIN_UNSAVED = 16

/** Each entry is a delivery. Retries take at most half of the places, and at least one. */
const takeOne = (maxInFlight: number, closedUntil: () => number): Take => {
  const maxRetries = Math.max(1, Math.floor(maxInFlight / 2))
  return (at) => {
    const free = maxInFlight - at.inFlight
    const held = at.retries.count + at.fresh.count
    const due = Math.max(held > 0 ? at.now : at.nextDue(), closedUntil())
    if (due > at.now) return due === Infinity ? NEVER : waitUntil(due)
    // A step follows each verdict.
    if (held > 0) return free <= 0 ? NEVER : at.retries.count > 0 ? ONE_RETRY : ONE_FRESH
    const count = free - at.behind
    if (count <= 0) return NEVER
    // The store gave less than was due.
    if (!at.mayLease) return waitUntil(at.now + STORE_RETRY_DELAY)
    return { do: 'lease', limits: { count, retries: Math.max(0, maxRetries - at.retriesInFlight) } }
  }
}

/** Each entry is a delivery, at most `maxInFlight` at a time, and none before `closedUntil`. */
export const one = <A>(maxInFlight: number, closedUntil = (): number => -Infinity): Shape<A, A> => ({
  take: takeOne(maxInFlight, closedUntil),
  // A server takes milliseconds for each list.
  maxUnsaved: (isShared) => (isShared ? Math.max(MIN_UNSAVED, Math.floor(maxInFlight / 4)) : MIN_UNSAVED),
  sizeOf: () => 0,
  // A delivery has at least one entry.
  toItem: (entries) => (entries[0] as Entry<A>).item,
  isBatch: false,
  maxHold: 0,
})

export interface BatchBounds {
  readonly count: number
  /** Of the sizes in a line. */
  readonly bytes: number
  /** Milliseconds after the last start of new entries, or after the first of them came. */
  readonly delay: number
  readonly delayAfter: 'start' | 'entry'
  /**
   * Deliveries at a time. With 1 nothing new starts while a retry waits, which keeps the order. With more and
   * a delay after the last start, the delay opens no second one: only a full batch or a flush is a backlog.
   */
  readonly concurrency: number
}

/** New entries are leased into the forming batch, one for each free place. A retried batch is apart. */
export const batchOf = ({ count, bytes, delay, delayAfter, concurrency }: BatchBounds): Take => {
  const startRetries = start('retries', count, bytes, 'retry')
  const leaseRetries: Next = { do: 'lease', limits: { count, retries: count, retriesOnly: true } }
  const delayEnd = ({ lastStart, freshSince, running }: Moment): number => {
    if (delayAfter === 'entry') return delay + freshSince
    return running > 0 ? Infinity : delay + lastStart
  }

  /** What closes the forming batch now, with the entries that the store can add. */
  const closedBy = (at: Moment, more: Line): ClosedBy | undefined => {
    const { fresh, flushing } = at
    if (fresh.count + more.count >= count) return 'count'
    if (fresh.bytes + more.bytes >= bytes) return 'bytes'
    if (flushing !== undefined) return flushing
    if (delayEnd(at) <= at.now) return 'delay'
    return at.isFull() ? 'flush' : undefined
  }

  return (at) => {
    const { now, fresh, retries } = at
    const free = concurrency - at.running
    // The next step follows the end of a delivery, or an answer of the store.
    if (free <= 0 || at.behind > 0 || at.nacking > 0) return NEVER
    if (at.heldUntil > now) return waitUntil(at.heldUntil)
    if (retries.count > 0) return startRetries
    const retryDue = at.nextRetry()
    if (retryDue <= now) return at.mayLeaseRetries ? leaseRetries : waitUntil(now + STORE_RETRY_DELAY)
    if (retryDue < Infinity && concurrency === 1 && at.orderedUntil > now) return waitUntil(retryDue)
    if (fresh.count >= count) return start('fresh', count, bytes, 'count')
    if (fresh.bytes >= bytes) return start('fresh', count, bytes, 'bytes')
    const isMore = at.nextDue() <= now
    if (fresh.count === 0 && !isMore) return waitUntil(retryDue)
    const why = closedBy(at, isMore ? at.unleased : NOTHING)
    if (why === undefined) return waitUntil(Math.min(retryDue, delayEnd(at)))
    if (isMore && at.mayLease)
      return { do: 'lease', limits: { count: free * count - fresh.count, retries: 0 } }
    // The store gave less than was due.
    if (fresh.count > 0) return start('fresh', count, bytes, why)
    return waitUntil(Math.min(retryDue, now + STORE_RETRY_DELAY))
  }
}
