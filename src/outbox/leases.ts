/**
 * The entries that come out of a store: held until their delivery, counted until they end or are put back.
 *
 * @module
 */
import { isPromiseLike, type Awaitable } from '../core/awaitable.ts'
import { isRecord } from '../core/json.ts'
import type { Estimate, Held } from './held.ts'
import type { ledger } from './ledger.ts'
import type { Entry, LeaseLimits, Outbox } from './outbox.ts'
import type { StoreLimit } from './storeLimit.ts'
import type { Shape } from './take.ts'

const MANY = 1e9

/** What leases change of the moment that a take reads. */
interface Leasing<A> {
  readonly now: number
  readonly retries: Held<A>
  readonly fresh: Held<A>
  readonly unleased: Estimate
  freshSince: number
  mayLease: boolean
  mayLeaseRetries: boolean
}

/**
 * @param isItem whether a stored item is one of ours
 * @param reject ends an entry of another item
 * @param changed an answer of the store was used
 * @param pollSoon the store answered too late
 */
export const leases = <A>(
  outbox: Outbox<A>,
  { inTime }: StoreLimit,
  at: Leasing<A>,
  { isBatch, sizeOf }: Pick<Shape<A, never>, 'isBatch' | 'sizeOf'>,
  now: () => number,
  book: ReturnType<typeof ledger<A>>,
  isItem: (item: unknown) => boolean,
  reject: (entry: Entry<A>) => void,
  changed: () => void,
  pollSoon: () => void,
) => {
  const isShared = outbox.watch !== undefined
  const storeFailed = book.defectIn('outbox')
  /** Entries that are leased: neither ended nor put back. */
  let leased = 0
  /** Calls that add items and are not answered yet. */
  let calls = 0
  /** The limits of the last lease. */
  let asked: LeaseLimits = { count: 0, retries: 0 }

  /** An item whose enqueue is late or failed may be stored: it counts as accepted when it comes out. */
  const count = (entries: ReadonlyArray<Entry<A>>): void => {
    leased += entries.length
    const unknown = isShared ? 0 : leased - book.waiting()
    if (unknown <= 0) return
    const unasked = Math.max(0, unknown - calls + book.early())
    book.acceptedEarly(unknown - unasked)
    if (unasked > 0) for (const { id, item } of entries.slice(-unasked)) book.acceptedLate(item, id)
  }
  const hold = (entries: ReadonlyArray<Entry<A>>): void => {
    const found = entries.every(isRecord) ? entries : entries.filter(isRecord)
    if (found !== entries) storeFailed(new TypeError('the outbox handed out something that is no entry'))
    const isRetries = asked.retriesOnly === true
    if (!isRetries && entries.length >= asked.count) at.unleased.set(Infinity)
    if (found.length >= asked.count) at[isRetries ? 'mayLeaseRetries' : 'mayLease'] = true
    count(found)
    for (const entry of found) {
      if (!isItem(entry.item)) reject(entry)
      else if (entry.progress === undefined) at.fresh.push(entry)
      else at.retries.push(entry)
    }
  }

  const leaseOne = (retriesOnly: boolean): Entry<A> | undefined => {
    const limits = { count: 1, retries: retriesOnly ? 1 : 0, retriesOnly }
    const answer = outbox.lease(Number.MAX_SAFE_INTEGER, limits)
    if (isPromiseLike(answer)) return undefined
    leased += answer.length
    return answer[0]
  }

  return {
    /** Leases entries and holds them; a promise gives entries for `hold`. `late` gets those that come too late. */
    lease: (
      limits: LeaseLimits,
      late: (entries: ReadonlyArray<Entry<A>>) => void,
    ): Promise<ReadonlyArray<Entry<A>>> | undefined => {
      asked = limits
      if (limits.retriesOnly === true) at.mayLeaseRetries = false
      else {
        at.mayLease = false
        at.unleased.set(0)
      }
      const answer = outbox.lease(at.now, limits)
      // Most stores answer at once, with a list.
      if (!Array.isArray(answer) && isPromiseLike(answer)) return inTime(answer, late)
      hold(answer)
      return undefined
    },
    hold,
    count,
    /** There is an item more to lease. */
    added: (item: A): void => {
      if (!isBatch) return
      if (at.fresh.count === 0 && at.unleased.count === 0) at.freshSince = now()
      at.unleased.add(sizeOf(item))
    },
    /** Leased entries ended, or were put back. */
    left: (entries: number): void => {
      leased -= entries
    },
    /** Takes out the oldest entry that is in no delivery: retries first. The store must answer at once. */
    takeOldest: (): Entry<A> | undefined =>
      at.retries.shift() ?? leaseOne(true) ?? at.fresh.shift() ?? leaseOne(false),
    /** Takes out the new entries that are in no delivery and of which `isLost` says so. */
    recall: (isLost: (entry: Entry<A>) => boolean): ReadonlyArray<Entry<A>> => {
      const held = at.fresh.drain()
      const recalled = held.filter(isLost)
      for (const entry of held) if (!isLost(entry)) at.fresh.push(entry)
      leased -= recalled.length
      return recalled
    },
    /** Takes out all entries that are in no delivery. */
    drain: (): ReadonlyArray<Entry<A>> => [...at.retries.drain(), ...at.fresh.drain()],
    /** Uses the answer of the store to a call that adds items: at once if it is not a promise. */
    whenStored: <T, B>(answer: Awaitable<T>, use: (answer: T) => B, isMany = false): Awaitable<B> => {
      if (!isPromiseLike(answer)) return use(answer)
      // Items that come out before it is answered count with the answer.
      const adds = isMany ? MANY : 1
      calls += adds
      return inTime(answer, pollSoon, storeFailed)
        .then(use)
        .finally(() => {
          calls -= adds
          book.limitEarly(calls)
          changed()
        })
    },
    isCalling: (): boolean => calls > 0,
  }
}
