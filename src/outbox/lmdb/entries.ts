/**
 * The items that wait in a store, in the order in which they are leased. The order is that of the trees: in memory are only those that are
 * leased, and the next few new ones.
 *
 * @module
 */
import { isDead } from '../../core/outcome.ts'
import { queue } from '../../core/queue.ts'
import type { Ack, Entry, LeaseLimits, Nack } from '../outbox.ts'
import type { Commits } from './commit.ts'
import type { CorruptRecord, ItemCodec } from './contract.ts'
import { aboutDead, aboutRetry, decodeEntry, encodeCorrupt, rawOf, sizeIn, withAbout } from './records.ts'
import type { Counters, RetryKey, Store } from './store.ts'

/** Where the record of a leased entry is. */
interface Leased {
  readonly number: number
  /** Its key among the retries; undefined if it was never put back. */
  readonly retryKey: RetryKey | undefined
  readonly size: number
  /** Its ack or nack is being written. */
  isSettling: boolean
}

/** An entry that was never put back. */
export interface Fresh<A> {
  readonly number: number
  readonly entry: Entry<A>
  readonly size: number
}

const MAX_AHEAD = 1_024
const MAX_AHEAD_BYTES = 2 * 1_048_576

/** A due time, or a first attempt, so far ahead was written with a wrong clock, and counts as now. */
const FAR_MS = 25 * 24 * 3_600_000

const FIRST_KEY: RetryKey = [-Number.MAX_VALUE, 0]

const isBefore = ([due, number]: RetryKey, [otherDue, otherNumber]: RetryKey): boolean =>
  due < otherDue || (due === otherDue && number < otherNumber)

/** Retries that were stored with a wrong clock are due now. */
const correctDueTimes = ({ env, retries }: Store, now: number): void => {
  for (;;) {
    const range = retries.getRange({ start: [now + FAR_MS, 0], limit: 1_000 })
    const rows = Array.from(range, ({ key, value }) => ({ key, value: Buffer.from(value) }))
    if (rows.length === 0) return
    try {
      env.transactionSync(() => {
        for (const { key, value } of rows) {
          retries.removeSync(key)
          retries.putSync([now, key[1]], value)
        }
      })
    } catch {
      // The disk is full. The next process corrects them.
      return
    }
  }
}

/** The entries of a store. */
export const storedEntries = <A>(
  store: Store,
  commits: Commits,
  addDead: (counters: Counters, record: Buffer) => void,
  codec: ItemCodec<A>,
  now: () => number,
  onCorrupt: (record: CorruptRecord) => void,
) => {
  const { fresh, retries } = store
  const leased = new Map<number, Leased>()
  /** The next new entries. All before `aheadTo` are leased, gone, or here. */
  const ahead = queue<Fresh<A>>()
  let aheadBytes = 0
  let aheadTo = 0
  /** All retries before this key are leased or gone. */
  let retriesFrom = FIRST_KEY
  /** The first retry that is not leased, if it is known; undefined if there is none. */
  let firstRetry: RetryKey | undefined
  let isFirstKnown = false
  correctDueTimes(store, now())

  const recordOf = ({ number, retryKey }: Leased): Buffer | undefined =>
    retryKey === undefined ? fresh.get(number) : retries.get(retryKey)

  /** An item leaves. Sizes may have fractions, so an empty store has 0 bytes by definition. */
  const remove = (counters: Counters, { number, retryKey, size }: Leased): void => {
    if (retryKey === undefined) fresh.removeSync(number)
    else retries.removeSync(retryKey)
    counters.waiting = Math.max(0, counters.waiting - 1)
    counters.bytes = counters.waiting === 0 ? 0 : Math.max(0, counters.bytes - size)
  }

  /** Ends a record that cannot be read as a dead letter. If that cannot be written, the next process finds it again. */
  const endCorrupt = (number: number, retryKey: RetryKey | undefined, record: Buffer): void => {
    const copy = Buffer.from(record)
    // The size in a damaged record may be any number.
    const place = { number, retryKey, size: Math.min(sizeIn(copy), copy.length), isSettling: true }
    leased.set(number, place)
    const ended = commits.write(1, false, (counters) => {
      remove(counters, place)
      addDead(counters, encodeCorrupt(copy, now()))
      return () => {
        leased.delete(number)
        onCorrupt({ id: String(number), raw: rawOf(copy) })
      }
    })
    ended.catch(() => undefined)
  }

  /** The entry in a record. Undefined if it cannot be read: then it ends. */
  const read = (number: number, retryKey: RetryKey | undefined, record: Buffer): Entry<A> | undefined => {
    const entry = decodeEntry(codec, number, record)
    if (entry === undefined) endCorrupt(number, retryKey, record)
    else if ((entry.firstAttemptAt ?? 0) > now() + FAR_MS) return { ...entry, firstAttemptAt: now() }
    return entry
  }

  const hold = (next: Fresh<A>): void => {
    ahead.push(next)
    aheadBytes += next.size
  }

  const hasFresh = (): boolean => {
    // A transaction that is not answered yet may be visible already.
    const end = commits.counters().lastItem + 1
    while (ahead.size() === 0 && aheadTo < end) {
      let count = 0
      for (const { key, value } of fresh.getRange({ start: aheadTo, end, limit: MAX_AHEAD })) {
        count++
        aheadTo = key + 1
        const size = sizeIn(value)
        const entry = read(key, undefined, value)
        if (entry !== undefined) hold({ number: key, entry, size })
        if (aheadBytes > MAX_AHEAD_BYTES) return true
      }
      if (count < MAX_AHEAD) aheadTo = end
    }
    return ahead.size() > 0
  }

  const nextRetry = (): RetryKey | undefined => {
    if (isFirstKnown) return firstRetry
    isFirstKnown = true
    firstRetry = undefined
    for (const key of retries.getKeys({ start: retriesFrom })) {
      if (leased.has(key[1])) continue
      firstRetry = retriesFrom = key
      break
    }
    return firstRetry
  }

  const lease = (
    at: number,
    { count, retries: maxRetries, retriesOnly = false }: LeaseLimits,
  ): ReadonlyArray<Entry<A>> => {
    const entries: Array<Entry<A>> = []
    const hand = (entry: Entry<A>, number: number, retryKey: RetryKey | undefined, size: number): void => {
      leased.set(number, { number, retryKey, size, isSettling: false })
      entries.push(entry)
    }
    const first = nextRetry()
    if (first !== undefined && first[0] <= at && maxRetries > 0) {
      isFirstKnown = false
      for (const { key, value } of retries.getRange({ start: first })) {
        const [due, number] = key
        if (due > at || entries.length >= Math.min(count, maxRetries)) break
        retriesFrom = [due, number + 1]
        if (leased.has(number)) continue
        const size = sizeIn(value)
        const entry = read(number, key, value)
        if (entry !== undefined) hand(entry, number, key, size)
      }
    }
    while (!retriesOnly && entries.length < count && hasFresh()) {
      const next = ahead.shift()
      if (next === undefined) break
      aheadBytes -= next.size
      hand(next.entry, next.number, undefined, next.size)
    }
    return entries
  }

  /** Writes changes of leased entries in one transaction. A late or repeated change of an entry is left out. */
  const settle = async <T extends { readonly entry: Entry<A> }>(
    list: ReadonlyArray<T>,
    change: (counters: Counters, place: Leased, asked: T) => () => void,
  ): Promise<void> => {
    const moves = list.flatMap((asked) => {
      const place = leased.get(Number(asked.entry.id))
      if (place === undefined || place.isSettling) return []
      place.isSettling = true
      return { place, asked }
    })
    if (moves.length === 0) return
    try {
      await commits.write(moves.length, false, (counters) => {
        const settled = moves.map(({ place, asked }) => change(counters, place, asked))
        return () => {
          for (const { place } of moves) leased.delete(place.number)
          for (const each of settled) each()
        }
      })
    } catch (error) {
      for (const { place } of moves) place.isSettling = false
      throw error
    }
  }

  return {
    /** Entries were enqueued and synced. */
    enqueued: (list: ReadonlyArray<Fresh<A>>): void => {
      for (const next of list) {
        // If there is a gap, they are read from the disk in their turn.
        if (next.number !== aheadTo || ahead.size() >= MAX_AHEAD || aheadBytes > MAX_AHEAD_BYTES) return
        hold(next)
        aheadTo++
      }
    },
    lease,
    nextDue: (retriesOnly = false): number | undefined => (!retriesOnly && hasFresh() ? 0 : nextRetry()?.[0]),
    nack: (list: ReadonlyArray<Nack<A>>): Promise<void> =>
      settle(list, (_, place, { entry, due }) => {
        const isFar = !(due <= now() + FAR_MS)
        const key: RetryKey = [isFar ? now() : Math.max(due, FIRST_KEY[0]), place.number]
        const record = recordOf(place)
        if (record !== undefined) {
          const tried = withAbout(record, aboutRetry(entry))
          if (place.retryKey === undefined) fresh.removeSync(place.number)
          else retries.removeSync(place.retryKey)
          retries.putSync(key, tried)
        }
        return () => {
          if (isBefore(key, retriesFrom)) retriesFrom = key
          if (firstRetry === undefined || isBefore(key, firstRetry)) firstRetry = key
        }
      }),
    ack: (list: ReadonlyArray<Ack<A>>): Promise<void> =>
      settle(list, (counters, place, { entry, outcome }) => {
        const record = isDead(outcome) ? recordOf(place) : undefined
        if (record !== undefined) addDead(counters, withAbout(record, aboutDead(entry, outcome, now())))
        remove(counters, place)
        return () => undefined
      }),
  }
}
