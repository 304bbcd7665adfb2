import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { resolve } from 'node:path'
import { steady, systemClock } from '../../core/clock.ts'
import type { Clock } from '../../core/clock.ts'
import {
  checkOptions,
  func,
  methods,
  optional,
  strict,
  text,
  wholeNumber,
  withDefault,
} from '../../core/options.ts'
import { full } from '../../core/refusal.ts'
import type { Full } from '../../core/refusal.ts'
import type { Entry } from '../outbox.ts'
import { storedBookmarks } from './bookmarks.ts'
import { boundsOf, groupCommit } from './commit.ts'
import type { Bounds, Commits } from './commit.ts'
import { OutboxError, outboxFault } from './contract.ts'
import type {
  Bookmark,
  CorruptRecord,
  ItemCodec,
  LmdbOutbox,
  LmdbOutboxOptions,
  OutboxFault,
} from './contract.ts'
import { storedDeadLetters } from './deadLetters.ts'
import { storedEntries } from './entries.ts'
import { openStore } from './open.ts'
import { aboutDead, encodeRecord, withAbout } from './records.ts'
import { APPEND } from './store.ts'
import type { Store } from './store.ts'

const newEntry = <A>(number: number, item: A): Entry<A> => ({
  id: String(number),
  item,
  firstAttemptAt: undefined,
  progress: undefined,
})

const wrongAnswer = (member: string, answer: unknown, wanted: string): RangeError =>
  new RangeError(`the codec's ${member} answered ${String(answer)}: it must be ${wanted}`)

/** Not every codec has types, and a wrong size would make the counters of the store useless. */
const sizeOf = <A>(codec: ItemCodec<A>, item: A): number => {
  const size: unknown = codec.sizeOf(item)
  if (typeof size === 'number' && size >= 0 && size <= Number.MAX_SAFE_INTEGER) return size
  throw wrongAnswer('sizeOf', size, 'a number from 0')
}

const textOf = <A>(codec: ItemCodec<A>, item: A): string => {
  const text: unknown = codec.toText(item)
  if (typeof text === 'string') return text
  throw wrongAnswer('toText', typeof text, 'a string')
}

/** An item on its way into the store. */
interface Offer<A> {
  readonly item: A
  readonly size: number
  readonly text: string
  /** The bound that has no room for it. */
  readonly bound: Full['bound'] | undefined
  /** Given within each transaction that writes it. */
  number: number
}

/** The outbox over an open store. */
const outboxOver = <A>(
  store: Store,
  closeStore: () => Promise<void>,
  codec: ItemCodec<A>,
  bounds: Bounds,
  commits: Commits,
  keepDead: number,
  now: () => number,
  onCorrupt: (record: CorruptRecord) => void,
): LmdbOutbox<A> => {
  const deadLetters = storedDeadLetters(store, commits, bounds, codec, keepDead)
  const entries = storedEntries(store, commits, deadLetters, codec, now, onCorrupt)
  const bookmarks = storedBookmarks(store, commits)
  let closing: Promise<void> | undefined

  /** @throws what the codec throws, before room is reserved for any item. */
  const offersOf = (items: ReadonlyArray<A>): ReadonlyArray<Offer<A>> =>
    items
      .map((item) => ({ item, size: sizeOf(codec, item), text: textOf(codec, item) }))
      .map(({ item, size, text }) => ({ item, size, text, bound: bounds.reserve(size), number: 0 }))

  const answer = ({ item, size, bound, number }: Offer<A>): Either<Full, Entry<A>> => {
    if (bound !== undefined)
      return left(full(item, bound, bound === 'count' ? bounds.maxCount : bounds.maxBytes))
    const entry = newEntry(number, item)
    entries.enqueued(number, entry, size)
    return right(entry)
  }

  const write = (
    offers: ReadonlyArray<Offer<A>>,
    bookmark: Bookmark | undefined,
  ): Promise<ReadonlyArray<Either<Full, Entry<A>>>> => {
    const release = (): void => {
      for (const { bound, size } of offers) if (bound === undefined) bounds.release(size)
    }
    return commits.write(
      offers.length,
      true,
      (counters) => {
        for (const offer of offers) {
          if (offer.bound !== undefined) continue
          offer.number = ++counters.lastItem
          store.fresh.putSync(offer.number, encodeRecord(offer.size, offer.text), APPEND)
          counters.waiting++
          counters.bytes += offer.size
        }
        const stored = bookmark && bookmarks.put(bookmark)
        return () => {
          release()
          stored?.()
          return offers.map(answer)
        }
      },
      release,
    )
  }

  return {
    durable: true,
    enqueue: (items, { bookmark } = {}) => {
      try {
        if (bookmark !== undefined) bookmarks.check(bookmark)
        const offers = offersOf(items)
        return offers.every(({ bound }) => bound !== undefined) ? offers.map(answer) : write(offers, bookmark)
      } catch (error) {
        return Promise.reject(error instanceof Error ? error : new Error('the codec failed'))
      }
    },
    lease: (at, limits) => (closing === undefined ? entries.lease(at, limits) : []),
    nack: entries.nack,
    ack: entries.ack,
    addDeadLetter: async (item, outcome) => {
      const record = Buffer.from(encodeRecord(sizeOf(codec, item), textOf(codec, item)))
      await commits.write(1, true, (counters) => {
        const entry = newEntry(++counters.lastItem, item)
        deadLetters.add(counters, withAbout(record, aboutDead(entry, outcome, now())))
        return () => undefined
      })
    },
    takeRemaining: () => [],
    nextDue: (retriesOnly) => (closing === undefined ? entries.nextDue(retriesOnly) : undefined),
    dead: { list: deadLetters.list, redrive: deadLetters.redrive, purge: deadLetters.purge },
    bookmark: bookmarks.bookmark,
    bookmarks: bookmarks.bookmarks,
    remember: bookmarks.remember,
    forget: bookmarks.forget,
    stats: () => {
      const { waiting, bytes, dead, evictedDeadLetters } = commits.counters()
      const { maxCount, maxBytes } = bounds
      return { waiting, bytes, dead, evictedDeadLetters, maxCount, maxBytes }
    },
    close: () => (closing ??= commits.end().then(closeStore)),
  }
}

const ignore = (): void => undefined

const codec = methods<ItemCodec<unknown>>('an ItemCodec', 'toText', 'fromText', 'sizeOf')

/** What is checked of the options. The types hold the rest. */
const optionsOf = strict({
  path: text,
  codec,
  maxCount: withDefault(wholeNumber('items', 1), 2_000_000),
  maxBytes: withDefault(wholeNumber('bytes', 1), 8_589_934_592),
  keepDead: withDefault(wholeNumber('items', 0), 100_000),
  owner: optional(text),
  clock: optional(methods<Clock>('a Clock', 'now', 'monotonic', 'schedule')),
  onCorrupt: optional(func<(record: CorruptRecord) => void>()),
})

/**
 * An outbox in a folder. What it accepted survives a crash of the process and of the machine: it answers an enqueue when it was synced to
 * the disk. Concurrent writes share one sync. Millions may wait: they are on the disk and not in memory, in the order in which they are
 * leased. One process at a time may have it open; the folder of a process that ended is taken over. Closing deletes nothing.
 *
 * Needs the package lmdb, which is an optional dependency.
 *
 * @throws OutboxError when it cannot be opened: `reason` says why, the message says what to do.
 * @throws ConfigError when an option is wrong.
 *
 * @example
 * import { lmdbOutbox } from 'headrace/outbox/lmdb'
 * import { mkdtempSync, rmSync } from 'node:fs'
 * import { tmpdir } from 'node:os'
 * import { join } from 'node:path'
 *
 * const path = mkdtempSync(join(tmpdir(), 'outbox-'))
 * const codec = { toText: JSON.stringify, fromText: JSON.parse, sizeOf: (item: string) => item.length }
 *
 * const outbox = lmdbOutbox<string>({ path, codec })
 * await outbox.enqueue(['a'])
 * await outbox.close()
 *
 * const again = lmdbOutbox<string>({ path, codec })
 * console.log(await again.lease(0, { count: 10, retries: 0 })) // => [ { id: '1', item: 'a', firstAttemptAt: undefined, progress: undefined } ]
 * await again.close()
 * rmSync(path, { recursive: true })
 */
export const lmdbOutbox = <A>(options: LmdbOutboxOptions<A>): LmdbOutbox<A> => {
  const { maxCount, maxBytes, keepDead, path } = checkOptions('lmdb outbox', optionsOf, options)
  const { codec, owner, clock = systemClock, onCorrupt = ignore } = options
  const now = steady(clock)
  const { store, close } = openStore(resolve(path), codec.kind ?? 'items', owner, now())
  const commits = groupCommit(store)
  const bounds = boundsOf(commits.counters, maxCount, maxBytes)
  return outboxOver(store, close, codec, bounds, commits, keepDead, now, onCorrupt)
}

/**
 * Opens an outbox on a disk, or says why it cannot be opened. As `lmdbOutbox`, with the failure as a value.
 *
 * @throws ConfigError when an option is wrong.
 *
 * @example
 * import { openLmdbOutbox } from 'headrace/outbox/lmdb'
 *
 * const codec = { toText: JSON.stringify, fromText: JSON.parse, sizeOf: (item: string) => item.length }
 * const opened = openLmdbOutbox<string>({ path: '/dev/null/outbox', codec })
 * console.log(opened._tag === 'Left' ? opened.left.reason : 'open') // => noAccess
 */
export const openLmdbOutbox = <A>(options: LmdbOutboxOptions<A>): Either<OutboxFault, LmdbOutbox<A>> => {
  try {
    return right(lmdbOutbox(options))
  } catch (error) {
    if (!(error instanceof OutboxError)) throw error
    return left(outboxFault(error.reason, error.path, error.message))
  }
}
