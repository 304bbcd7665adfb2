/**
 * The items that wait in a store, in the order in which they are leased, and its dead letters. The order is
 * that of the trees: only leased items and the next new ones are in memory.
 *
 * @module
 */
import { constVoid, left, right, type Either } from '../../core/either.ts'
import { fullIn, type Bounds, type Full } from '../../core/refusal.ts'
import { isDead, type Outcome } from '../../core/outcome.ts'
import { queue } from '../../core/queue.ts'
import { callSafely } from '../../log/listeners.ts'
import { DEAD_PAGE, newEntry, type Ack, type DeadLetter, type DeadLetters, type Entry } from '../outbox.ts'
import type { CorruptRecord, ItemCodec, LeaseLimits, Nack } from '../outbox.ts'
import type { Commits, RemovedDead } from './commit.ts'
import { DEAD_CHUNK, aboutDead, aboutRetry, type Offer } from '../stored.ts'
import { decodeDeadLetter, decodeEntry, encodeCorrupt, encodeRecord, rawOf, sizeIn } from './records.ts'
import { withAbout } from './records.ts'
import { append, type Counts, type RetryKey, type Store } from './store.ts'

/** Where the record of a leased entry is. */
interface Leased {
  readonly number: number
  /** Its key among the retries; undefined if it was never put back. */
  readonly retryKey: RetryKey | undefined
  readonly size: number
  /** Its ack or nack is being written. */
  settling: Promise<void> | undefined
  /** Its change was written after it was reported as failed. It ends when the change is repeated. */
  end: (() => void) | undefined
}

/** An entry that was never put back. */
type Fresh<A> = Readonly<{ number: number; entry: Entry<A>; size: number }>

const MAX_AHEAD = 8_192
const MAX_AHEAD_BYTES = 8 * 1_048_576

/** A due time, or a first attempt, so far ahead was written with a wrong clock, and counts as now. */
const FAR_MS = 25 * 24 * 3_600_000
/** The longest wait. A clock that is set back by less than a day does not shorten it. */
const MAX_WAIT_MS = FAR_MS - 24 * 3_600_000

/** The `settling` of an entry whose list is not written yet. A map of such entries took 0.8 µs an ack. */
const IN_LIST = Promise.resolve()
const FIRST_KEY: RetryKey = [-Number.MAX_VALUE, 0]

const isBefore = ([due, number]: RetryKey, [otherDue, otherNumber]: RetryKey): boolean =>
  due < otherDue || (due === otherDue && number < otherNumber)

/** Retries that were stored with a wrong clock are due now. */
const correctDueTimes = ({ env, retries }: Store, now: number): void => {
  for (;;) {
    const range = retries.getRange({ start: [now + FAR_MS, 0], limit: 1_000 })
    const rows = Array.from(range, ({ key, value }) => ({ key, value: Buffer.from(value) }))
    if (rows.length === 0) return
    env.transactionSync(() => {
      for (const { key, value } of rows) {
        retries.removeSync(key)
        retries.putSync([now, key[1]], value)
      }
    })
  }
}

export const storedEntries = <A>(
  store: Store,
  commits: Commits,
  codec: ItemCodec<A>,
  { keepDead, ...bounds }: Bounds & { readonly keepDead: number },
  now: () => number,
  onCorrupt: (record: CorruptRecord) => void,
) => {
  const { fresh, retries, dead } = store
  const leased = new Map<number, Leased>()
  /** The next new entries. All before `aheadTo` are leased, gone, or here. */
  const readAhead = queue<Fresh<A>>()
  let aheadBytes = 0
  let readAheadEnd = 0
  /** All retries before this key are leased or gone. */
  let retriesFrom = FIRST_KEY
  /** The first retry that is not leased; undefined if there is none. */
  let firstRetry: RetryKey | undefined | 'unknown' = 'unknown'
  correctDueTimes(store, now())

  const refusalOf = ({ waiting, bytes }: Readonly<Counts>, item: A, size: number): Full | undefined =>
    fullIn(item, waiting, bytes + size, bounds)

  const lease = (number: number, retryKey: RetryKey | undefined, size: number): Leased => {
    const place = { number, retryKey, size, settling: undefined, end: undefined }
    leased.set(number, place)
    return place
  }

  const recordOf = ({ number, retryKey }: Leased): Buffer | undefined =>
    retryKey === undefined ? fresh.get(number) : retries.get(retryKey)

  const removeRecord = ({ number, retryKey }: Leased): void => {
    if (retryKey === undefined) void fresh.remove(number)
    else void retries.remove(retryKey)
  }

  /** An item leaves. Sizes may have fractions, so an empty store has 0 bytes by definition. */
  const remove = (counters: Counts, place: Leased): void => {
    removeRecord(place)
    counters.waiting = Math.max(0, counters.waiting - 1)
    counters.bytes = counters.waiting === 0 ? 0 : Math.max(0, counters.bytes - place.size)
  }

  /** The dead letters that are there, and then those that a list adds. */
  const oldestDead = function* ({ lastDead }: Counts, { keys, evictedTo }: RemovedDead) {
    for (const key of dead.getKeys({ start: evictedTo + 1 })) if (!keys.has(key)) yield key
    for (let key = Math.max(evictedTo, commits.counters().lastDead) + 1; key <= lastDead; key++) yield key
  }
  /** Adds a dead letter. The oldest make room. */
  const addDead = (counters: Counts, removed: RemovedDead, record: Buffer): void => {
    append(dead, ++counters.lastDead, record)
    counters.dead++
    if (counters.dead <= keepDead) return
    for (const oldest of oldestDead(counters, removed)) {
      void dead.remove(oldest)
      removed.evictedTo = oldest
      counters.evictedDeadLetters++
      if (--counters.dead <= keepDead) break
    }
  }

  /** Ends an unreadable record as a dead letter. If that is not written, the next process finds it again. */
  const endCorrupt = (number: number, retryKey: RetryKey | undefined, record: Buffer): void => {
    const copy = Buffer.from(record)
    // The size in a damaged record may be any number.
    const place = lease(number, retryKey, Math.min(sizeIn(copy), copy.length))
    place.settling = commits.write(1, false, (counters, removed) => {
      addDead(counters, removed, encodeCorrupt(copy, now()))
      remove(counters, place)
      return () => {
        leased.delete(number)
        callSafely(onCorrupt, { id: String(number), raw: rawOf(copy) }, constVoid)
      }
    })
    place.settling.catch(constVoid)
  }

  /** The entry in a record. Undefined if it cannot be read: then it ends. */
  const read = (number: number, retryKey: RetryKey | undefined, record: Buffer): Entry<A> | undefined => {
    const entry = decodeEntry(codec, number, record)
    if (entry === undefined) endCorrupt(number, retryKey, record)
    else if ((entry.firstAttemptAt ?? 0) > now() + FAR_MS) return { ...entry, firstAttemptAt: now() }
    return entry
  }

  const hasFresh = (): boolean => {
    // A transaction that is not answered yet may be visible already.
    const end = commits.counters().lastItem + 1
    while (readAhead.size() === 0 && readAheadEnd < end) {
      let count = 0
      for (const { key, value } of fresh.getRange({ start: readAheadEnd, end, limit: MAX_AHEAD })) {
        count++
        readAheadEnd = key + 1
        const size = sizeIn(value)
        const entry = read(key, undefined, value)
        if (entry === undefined) continue
        readAhead.push({ number: key, entry, size })
        aheadBytes += size
        if (aheadBytes > MAX_AHEAD_BYTES) return true
      }
      if (count < MAX_AHEAD) readAheadEnd = end
    }
    return readAhead.size() > 0
  }

  const nextRetry = (): RetryKey | undefined => {
    if (firstRetry !== 'unknown') return firstRetry
    for (const key of retries.getKeys({ start: retriesFrom }))
      if (!leased.has(key[1])) return (firstRetry = retriesFrom = key)
    return (firstRetry = undefined)
  }

  /** An entry is leased no more. `key`: its place among the retries, if it was put back. */
  const end = (place: Leased, key: RetryKey | undefined): void => {
    leased.delete(place.number)
    if (key === undefined) return
    if (isBefore(key, retriesFrom)) retriesFrom = key
    if (firstRetry !== 'unknown' && isBefore(key, firstRetry ?? [Infinity, 0])) firstRetry = key
  }

  /**
   * Writes changes of leased entries in one transaction. A late change of an entry is left out, a repeated
   * one ends as the first. `change` reads and answers what writes, which answers the key of a retry.
   */
  const settle = async <T extends { readonly entry: Entry<A> }>(
    list: ReadonlyArray<T>,
    change: (place: Leased, asked: T) => (counters: Counts, removed: RemovedDead) => RetryKey | undefined,
  ): Promise<void> => {
    const moves: Array<{ readonly place: Leased; readonly asked: T }> = []
    const writes = new Set<Promise<void>>()
    for (const asked of list) {
      const place = leased.get(Number(asked.entry.id))
      if (place === undefined) continue
      if (place.end !== undefined) {
        place.end()
        continue
      }
      if (place.settling === undefined) moves.push({ place, asked })
      else writes.add(place.settling)
      place.settling ??= IN_LIST
    }
    let isFailed = false
    if (moves.length > 0) {
      const written = commits.write(moves.length, false, (counters, removed) => {
        const changes = moves.map(({ place, asked }) => change(place, asked))
        const keys = changes.map((write) => write(counters, removed))
        return () => {
          moves.forEach(({ place }, at) => {
            if (isFailed) place.end = () => end(place, keys[at])
            else end(place, keys[at])
          })
        }
      })
      const settling = written.catch((error: unknown) => {
        isFailed = true
        for (const { place } of moves) place.settling = undefined
        throw error
      })
      for (const { place } of moves) place.settling = settling
      writes.add(settling)
    }
    await Promise.all(writes)
  }

  /** Changes matching dead letters, a chunk in each transaction. Answers their ids. Leaves later ones. */
  const changeDead = async (
    matches: (deadLetter: DeadLetter<A>) => boolean,
    change: (counters: Counts, deadLetter: DeadLetter<A>, key: number) => boolean,
  ): Promise<ReadonlyArray<string>> => {
    const last = commits.counters().lastDead
    const ids: string[] = []
    for (let after = 0; after < last;) {
      const page = listDead(after, DEAD_CHUNK, MAX_AHEAD_BYTES)
      const chosen = page.filter((each) => Number(each.id) <= last && matches(each))
      after = Number(page.at(-1)?.id ?? last)
      if (chosen.length === 0) continue
      const changed = await commits.write(chosen.length, false, (counters, { keys, evictedTo }) => {
        const isThere = (key: number) => key > evictedTo && !keys.has(key) && dead.doesExist(key)
        const done = chosen.filter((each) => {
          const key = Number(each.id)
          if (!isThere(key) || !change(counters, each, key)) return false
          keys.add(key)
          void dead.remove(key)
          return true
        })
        counters.dead -= done.length
        return () => done
      })
      for (const { id } of changed) ids.push(id)
    }
    return ids
  }
  const listDead = (after: number, limit: number, maxBytes = Infinity): ReadonlyArray<DeadLetter<A>> => {
    const page: Array<DeadLetter<A>> = []
    let bytes = 0
    for (const { key, value } of commits.isEnded() ? [] : dead.getRange({ start: after + 1, limit })) {
      page.push(decodeDeadLetter(codec, key, value))
      bytes += value.length
      if (bytes > maxBytes) break
    }
    return page
  }

  const deadLetters: DeadLetters<A> = {
    list: ({ after = '0', limit = DEAD_PAGE } = {}) => listDead(Number(after), limit),
    // A dead letter without room stays dead. A moved one is a new item, so its deadline is a new one.
    redrive: (matches) =>
      changeDead(
        (each) => each.reason === 'ended' && matches(each),
        (counters, each, key) => {
          const record = dead.get(key)
          if (record === undefined || each.reason === 'corrupt') return false
          const size = sizeIn(record)
          if (refusalOf(counters, each.entry.item, size) !== undefined) return false
          append(fresh, ++counters.lastItem, withAbout(record, ''))
          counters.waiting++
          counters.bytes += size
          return true
        },
      ),
    purge: async (matches) => (await changeDead(matches, () => true)).length,
  }

  return {
    /** Adds items, and writes `beside` in the same transaction. */
    enqueue: (offers: ReadonlyArray<Offer<A>>, beside: () => unknown) => {
      const refusal = ({ item, size }: Offer<A>) => refusalOf(commits.counters(), item, size)
      // A full store is not asked again.
      if (offers.every(refusal)) return Promise.resolve(offers.flatMap((one) => refusal(one) ?? []).map(left))
      const length = offers.reduce((sum, { text }) => sum + text.length, 0)
      const add = (counters: Counts) => {
        const added: Array<Fresh<A>> = []
        const answers = offers.map(({ item, size, text }): Either<Full, Entry<A>> => {
          const refusal = refusalOf(counters, item, size)
          if (refusal !== undefined) return left(refusal)
          const number = ++counters.lastItem
          append(fresh, number, encodeRecord(size, text, commits.bytesFor))
          counters.waiting++
          counters.bytes += size
          const entry = newEntry(String(number), item)
          added.push({ number, entry, size })
          return right(entry)
        })
        if (added.length > 0) beside()
        return () => {
          for (const next of added) {
            // If there is a gap, they are read from the disk in their turn.
            if (next.number !== readAheadEnd || readAhead.size() >= MAX_AHEAD || aheadBytes > MAX_AHEAD_BYTES)
              break
            readAhead.push(next)
            aheadBytes += next.size
            readAheadEnd++
          }
          return answers
        }
      }
      return commits.write(offers.length, true, add, length)
    },
    lease: (at: number, { count, retries: maxRetries, retriesOnly = false }: LeaseLimits) => {
      const entries: Array<Entry<A>> = []
      const first = nextRetry()
      if (first !== undefined && first[0] <= at && maxRetries > 0) {
        firstRetry = 'unknown'
        for (const { key, value } of retries.getRange({ start: first })) {
          const [due, number] = key
          if (due > at || entries.length >= Math.min(count, maxRetries)) break
          retriesFrom = [due, number + 1]
          if (leased.has(number)) continue
          const size = sizeIn(value)
          const entry = read(number, key, value)
          if (entry === undefined) continue
          lease(number, key, size)
          entries.push(entry)
        }
      }
      while (!retriesOnly && entries.length < count && hasFresh()) {
        const next = readAhead.shift()
        if (next === undefined) break
        aheadBytes -= next.size
        lease(next.number, undefined, next.size)
        entries.push(next.entry)
      }
      return entries
    },
    retries: (): Iterable<Entry<A>> =>
      commits.isEnded()
        ? []
        : retries.getRange({}).flatMap(({ key, value }) => {
            const entry = decodeEntry(codec, key[1], value)
            return entry === undefined ? [] : [entry]
          }),
    nextDue: (retriesOnly = false): number | undefined => (!retriesOnly && hasFresh() ? 0 : nextRetry()?.[0]),
    nack: (list: ReadonlyArray<Nack<A>>): Promise<void> =>
      settle(list, (place, { entry, due }) => {
        const wanted = Number.isNaN(due) ? now() : Math.max(due, FIRST_KEY[0])
        // lmdb has another key for -0.
        const key: RetryKey = [Math.min(wanted, now() + MAX_WAIT_MS) + 0, place.number]
        const record = recordOf(place)
        const tried = record && withAbout(record, aboutRetry(entry))
        return () => {
          if (tried === undefined) return undefined
          removeRecord(place)
          void retries.put(key, tried)
          return key
        }
      }),
    ack: (list: ReadonlyArray<Ack<A>>): Promise<void> =>
      settle(list, (place, { entry, outcome }) => {
        const record = isDead(outcome) ? recordOf(place) : undefined
        const ended = record && withAbout(record, aboutDead(entry, outcome, now()))
        return (counters, removed) => {
          if (ended !== undefined) addDead(counters, removed, ended)
          remove(counters, place)
          return undefined
        }
      }),
    addDeadLetter: ({ item, size, text }: Offer<A>, outcome: Outcome<A>): Promise<void> =>
      commits.write(1, true, (counters, removed) => {
        const entry = newEntry(String(++counters.lastItem), item)
        const about = aboutDead(entry, outcome, now())
        addDead(counters, removed, withAbout(encodeRecord(size, text, commits.bytesFor), about))
        return () => undefined
      }),
    deadLetters,
  }
}
