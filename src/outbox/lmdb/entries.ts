/**
 * The items that wait in a store, in the order in which they are leased. The order is that of the trees: in memory are only those that are
 * leased, and a few that were enqueued last.
 *
 * @module
 */
import { isDead } from '../../core/outcome.ts'
import type { Entry, LeaseLimits, Outbox } from '../outbox.ts'
import { uncount } from './commit.ts'
import type { Commits, Counters } from './commit.ts'
import type { CorruptRecord, ItemCodec } from './contract.ts'
import type { StoredDeadLetters } from './deadLetters.ts'

import { aboutDead, aboutRetry, decodeEntry, encodeCorrupt, rawOf, sizeIn, withAbout } from './records.ts'
import type { RetryKey, Store } from './store.ts'

/** Where the record of a leased entry is. */
interface Leased {
  readonly number: number
  /** Its key among the retries; undefined if it was never put back. */
  readonly retryKey: RetryKey | undefined
  readonly size: number
  /** Its ack or nack is being written. */
  isSettling: boolean
}

/** Enqueued lately: it need not be read back. */
interface Recent<A> {
  readonly entry: Entry<A>
  readonly size: number
}

const MAX_RECENT = 1_024
const MAX_RECENT_BYTES = 2 * 1_048_576

/** A due time, or a first attempt, so far ahead was written with a wrong clock, and counts as now. */
const FAR_MS = 25 * 24 * 3_600_000

const FIRST_KEY: RetryKey = [-Number.MAX_VALUE, 0]

const isBefore = ([due, number]: RetryKey, [otherDue, otherNumber]: RetryKey): boolean =>
  due < otherDue || (due === otherDue && number < otherNumber)

/** The entries of a store. */
export interface StoredEntries<A> extends Pick<Outbox<A>, 'nack' | 'ack' | 'nextDue'> {
  /** An entry was enqueued and synced. */
  readonly enqueued: (number: number, entry: Entry<A>, size: number) => void
  readonly lease: (now: number, limits: LeaseLimits) => ReadonlyArray<Entry<A>>
}

export const storedEntries = <A>(
  store: Store,
  commits: Commits,
  deadLetters: StoredDeadLetters<A>,
  codec: ItemCodec<A>,
  now: () => number,
  onCorrupt: (record: CorruptRecord) => void,
): StoredEntries<A> => {
  const { fresh, retries } = store
  const leased = new Map<number, Leased>()
  const recent = new Map<number, Recent<A>>()
  let recentBytes = 0
  /** All fresh items below this number are leased or gone. */
  let freshFrom = 0
  /** Whether an item is known to be at `freshFrom`. */
  let isFreshThere = false
  /** All retries before this key are leased or gone. */
  let retriesFrom = FIRST_KEY
  /** When the first retry is due that is not leased; `Infinity` if there is none; undefined: not known. */
  let firstDue: number | undefined
  const [lastRetry] = retries.getKeys({ reverse: true, limit: 1 })
  /** Retries from this due time on were stored with a wrong clock; undefined if there are none. */
  let farFrom = lastRetry !== undefined && lastRetry[0] > now() + FAR_MS ? now() + FAR_MS : undefined

  const recordOf = ({ number, retryKey }: Leased): Buffer | undefined =>
    retryKey === undefined ? fresh.get(number) : retries.get(retryKey)

  const remove = ({ number, retryKey }: Leased): boolean =>
    retryKey === undefined ? fresh.removeSync(number) : retries.removeSync(retryKey)

  /** Ends a record that cannot be read as a dead letter. If that cannot be written, the next process finds it again. */
  const bury = (place: Leased, record: Buffer): void => {
    leased.set(place.number, place)
    const copy = Buffer.from(record)
    const ended = commits.write(1, false, (counters) => {
      remove(place)
      deadLetters.add(counters, encodeCorrupt(copy, now()))
      uncount(counters, place.size)
      return () => {
        leased.delete(place.number)
        onCorrupt({ id: String(place.number), raw: rawOf(copy) })
      }
    })
    ended.catch(() => undefined)
  }

  const hand = (
    number: number,
    retryKey: RetryKey | undefined,
    entry: Entry<A>,
    size: number,
    into: Array<Entry<A>>,
  ): void => {
    leased.set(number, { number, retryKey, size, isSettling: false })
    into.push(entry)
  }

  const handRecord = (
    number: number,
    retryKey: RetryKey | undefined,
    record: Buffer,
    into: Array<Entry<A>>,
  ): void => {
    const entry = decodeEntry(codec, number, record)
    const size = sizeIn(record)
    if (entry === undefined) {
      // The size in a damaged record may be any number.
      bury({ number, retryKey, size: Math.min(size, record.length), isSettling: true }, record)
      return
    }
    const { firstAttemptAt } = entry
    const isFar = firstAttemptAt !== undefined && firstAttemptAt > now() + FAR_MS
    hand(number, retryKey, isFar ? { ...entry, firstAttemptAt: now() } : entry, size, into)
  }

  const leaseFar = (count: number, into: Array<Entry<A>>): void => {
    if (farFrom === undefined) return
    for (const { key, value } of retries.getRange({ start: [farFrom, 0] })) {
      if (leased.has(key[1])) continue
      if (into.length >= count) return
      handRecord(key[1], key, value, into)
    }
    farFrom = undefined
    firstDue = undefined
  }

  const leaseRetries = (at: number, count: number, into: Array<Entry<A>>): void => {
    leaseFar(count, into)
    // Most calls come because something ended, and find no retry.
    if (into.length >= count || (firstDue !== undefined && firstDue > at)) return
    for (const { key, value } of retries.getRange({ start: retriesFrom })) {
      const [due, number] = key
      const isLeased = leased.has(number)
      if (!isLeased && (due > at || into.length >= count)) {
        retriesFrom = key
        firstDue = due
        return
      }
      if (!isLeased) handRecord(number, key, value, into)
      retriesFrom = [due, number + 1]
    }
    firstDue = Infinity
  }

  const readFresh = (count: number, into: Array<Entry<A>>): void => {
    // A transaction that is not answered yet may be visible already.
    const end = commits.counters().lastItem + 1
    isFreshThere = false
    for (const { key, value } of fresh.getRange({ start: freshFrom, end })) {
      if (into.length >= count || recent.has(key)) {
        freshFrom = key
        isFreshThere = true
        return
      }
      handRecord(key, undefined, value, into)
    }
    freshFrom = end
  }

  const leaseFresh = (count: number, into: Array<Entry<A>>): void => {
    while (into.length < count && freshFrom <= commits.counters().lastItem) {
      const found = recent.get(freshFrom)
      if (found === undefined) {
        readFresh(count, into)
        continue
      }
      recent.delete(freshFrom)
      recentBytes -= found.size
      hand(freshFrom, undefined, found.entry, found.size, into)
      freshFrom++
      isFreshThere = false
    }
  }

  const hasFresh = (): boolean => {
    if (isFreshThere || recent.has(freshFrom)) return true
    const end = commits.counters().lastItem + 1
    if (freshFrom >= end) return false
    const [first] = fresh.getKeys({ start: freshFrom, end, limit: 1 })
    isFreshThere = first !== undefined
    freshFrom = first ?? end
    return isFreshThere
  }

  const nextRetry = (): number | undefined => {
    if (farFrom !== undefined) return 0
    if (firstDue === undefined) {
      firstDue = Infinity
      for (const key of retries.getKeys({ start: retriesFrom })) {
        if (leased.has(key[1])) continue
        retriesFrom = key
        firstDue = key[0]
        break
      }
    }
    return firstDue === Infinity ? undefined : firstDue
  }

  /** The places of entries that are leased. A late or repeated ack or nack finds none, and changes nothing. */
  const placeOf = ({ id }: Entry<A>): Leased | undefined => {
    const place = leased.get(Number(id))
    return place?.isSettling === true ? undefined : place
  }

  /** Writes what `apply` does with each of these, all in one transaction. */
  const settle = <T extends { readonly place: Leased }>(
    moves: ReadonlyArray<T>,
    apply: (counters: Counters, move: T) => void,
    settled: (move: T) => void,
  ): Promise<void> =>
    commits.write(
      moves.length,
      false,
      (counters) => {
        for (const move of moves) apply(counters, move)
        return () => {
          for (const move of moves) {
            leased.delete(move.place.number)
            settled(move)
          }
        }
      },
      () => {
        for (const { place } of moves) place.isSettling = false
      },
    )

  const putBack = (place: Leased, key: RetryKey, about: string): void => {
    const record = recordOf(place)
    if (record === undefined) return
    const tried = withAbout(record, about)
    remove(place)
    retries.putSync(key, tried)
  }

  /** When an entry is due again. */
  const dueKey = (due: number, number: number): RetryKey => [
    due <= now() + FAR_MS ? Math.max(due, -Number.MAX_VALUE) : now(),
    number,
  ]

  return {
    enqueued: (number, entry, size) => {
      if (recent.size >= MAX_RECENT || recentBytes + size > MAX_RECENT_BYTES) return
      recent.set(number, { entry, size })
      recentBytes += size
    },
    lease: (at, { count, retries: maxRetries, retriesOnly = false }) => {
      const entries: Array<Entry<A>> = []
      leaseRetries(at, Math.min(count, maxRetries), entries)
      if (!retriesOnly) leaseFresh(count, entries)
      return entries
    },
    nextDue: (retriesOnly = false) => (!retriesOnly && hasFresh() ? 0 : nextRetry()),
    nack: (list) => {
      const moves: Array<{ place: Leased; key: RetryKey; about: string }> = []
      for (const { entry, due } of list) {
        const place = placeOf(entry)
        if (place === undefined) continue
        place.isSettling = true
        moves.push({ place, key: dueKey(due, place.number), about: aboutRetry(entry) })
      }
      if (moves.length === 0) return
      return settle(
        moves,
        (_, { place, key, about }) => putBack(place, key, about),
        ({ key }) => {
          if (isBefore(key, retriesFrom)) retriesFrom = key
          if (firstDue !== undefined && key[0] < firstDue) firstDue = key[0]
        },
      )
    },
    ack: (list) => {
      const moves: Array<{ place: Leased; dead: string | undefined }> = []
      for (const { entry, outcome } of list) {
        const place = placeOf(entry)
        if (place === undefined) continue
        place.isSettling = true
        moves.push({ place, dead: isDead(outcome) ? aboutDead(entry, outcome, now()) : undefined })
      }
      if (moves.length === 0) return
      return settle(
        moves,
        (counters, { place, dead }) => {
          const record = dead === undefined ? undefined : recordOf(place)
          if (dead !== undefined && record !== undefined) deadLetters.add(counters, withAbout(record, dead))
          remove(place)
          uncount(counters, place.size)
        },
        () => undefined,
      )
    },
  }
}
