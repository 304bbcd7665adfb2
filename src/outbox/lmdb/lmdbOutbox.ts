import type * as t from 'io-ts'
import { isRight, left, right } from 'fp-ts/lib/Either.js'
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
import { groupCommit } from './commit.ts'
import type { Commits } from './commit.ts'
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
import type { Fresh } from './entries.ts'
import { jsonCodec } from './jsonCodec.ts'
import { aboutDead, encodeRecord, withAbout } from './records.ts'
import { APPEND, openStore } from './store.ts'
import type { Counters, Store } from './store.ts'

const newEntry = <A>(number: number, item: A): Entry<A> => ({
  id: String(number),
  item,
  firstAttemptAt: undefined,
  progress: undefined,
})

const wrongAnswer = (member: string, answer: unknown, wanted: string): RangeError =>
  new RangeError(`the codec's ${member} answered ${String(answer)}: it must be ${wanted}`)

/** The size and text of an item. Not every codec has types, and a wrong size would make the counters of the store useless. */
const encode = <A>(codec: ItemCodec<A>, item: A): { readonly size: number; readonly text: string } => {
  const size: unknown = codec.sizeOf(item)
  if (!(typeof size === 'number' && size >= 0 && size <= Number.MAX_SAFE_INTEGER))
    throw wrongAnswer('sizeOf', size, 'a number from 0')
  const encoded: unknown = codec.toText(item)
  if (typeof encoded !== 'string') throw wrongAnswer('toText', typeof encoded, 'a string')
  return { size, text: encoded }
}

const checkBookmark = ({ name, value }: Bookmark): void => {
  // Not every caller has types.
  const given: ReadonlyArray<unknown> = [name, value]
  if (name === '' || !given.every((each) => typeof each === 'string'))
    throw new TypeError('a bookmark has a name and a value, which are strings, and a name is not empty')
}

/** Bookmarks are stored by number, because a name may be longer than a key of lmdb. */
const storedBookmarks = ({ bookmarks }: Store, commits: Commits) => {
  const values = new Map<string, string>()
  const keys = new Map<string, number>()
  let lastKey = 0
  for (const { key, value } of bookmarks.getRange()) {
    // Written by `put`.
    const [name, text] = JSON.parse(value) as [string, string]
    values.set(name, text)
    keys.set(name, key)
    lastKey = key
  }
  const keyOf = (name: string): number => {
    const key = keys.get(name) ?? ++lastKey
    keys.set(name, key)
    return key
  }
  /** Stores one, within a transaction. Answers what to do when that was synced. */
  const put = ({ name, value }: Bookmark): (() => void) => {
    bookmarks.putSync(keyOf(name), JSON.stringify([name, value]))
    return () => values.set(name, value)
  }
  return {
    put,
    bookmark: (name: string) => values.get(name),
    bookmarks: () => new Map(values),
    remember: async (bookmark: Bookmark) => {
      checkBookmark(bookmark)
      await commits.write(1, true, () => put(bookmark))
    },
    forget: async (name: string) => {
      await commits.write(1, false, () => {
        bookmarks.removeSync(keyOf(name))
        return () => values.delete(name)
      })
    },
  }
}

const ignore = (): void => undefined

/** What is checked of the options. The types hold the rest. */
const optionsOf = strict({
  path: text,
  codec: optional(methods<ItemCodec<unknown>>('an ItemCodec', 'toText', 'fromText', 'sizeOf')),
  item: optional(methods<t.Type<unknown>>('an io-ts codec', 'encode', 'decode')),
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
 * Needs the package lmdb, an optional peer dependency: `npm install lmdb`.
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
 * const outbox = lmdbOutbox<string>({ path })
 * await outbox.enqueue(['a'])
 * await outbox.close()
 *
 * const again = lmdbOutbox<string>({ path })
 * console.log(await again.lease(0, { count: 10, retries: 0 })) // => [ { id: '1', item: 'a', firstAttemptAt: undefined, progress: undefined } ]
 * await again.close()
 * rmSync(path, { recursive: true })
 */
export const lmdbOutbox = <A>(options: LmdbOutboxOptions<A>): LmdbOutbox<A> => {
  const { maxCount, maxBytes, keepDead, path } = checkOptions('lmdb outbox', optionsOf, options)
  const { codec = jsonCodec<A>(options.item), owner, clock = systemClock, onCorrupt = ignore } = options
  const now = steady(clock)
  const { store, close } = openStore(resolve(path), codec.kind ?? 'items', owner, now())
  const commits = groupCommit(store)
  const boundFor = ({ waiting, bytes }: Readonly<Counters>, size: number): Full['bound'] | undefined => {
    if (waiting >= maxCount) return 'count'
    return bytes + size > maxBytes ? 'bytes' : undefined
  }
  const refuse = (item: A, bound: Full['bound']): Either<Full, never> =>
    left(full(item, bound, bound === 'count' ? maxCount : maxBytes))
  const deadLetters = storedDeadLetters(store, commits, boundFor, codec, keepDead)
  const entries = storedEntries(store, commits, deadLetters.add, codec, now, onCorrupt)
  const { put, ...bookmarks } = storedBookmarks(store, commits)
  let closing: Promise<void> | undefined

  const enqueue: LmdbOutbox<A>['enqueue'] = async (items, { bookmark } = {}) => {
    if (bookmark !== undefined) checkBookmark(bookmark)
    const offers = items.map((item) => ({ item, ...encode(codec, item) }))
    const refusals = offers.flatMap(({ item, size }) => {
      const bound = boundFor(commits.counters(), size)
      return bound === undefined ? [] : refuse(item, bound)
    })
    // A full store is not asked again.
    if (refusals.length === offers.length) return refusals
    return commits.write(offers.length, true, (counters) => {
      const added: Array<Fresh<A>> = []
      const answers = offers.map(({ item, size, text: encoded }): Either<Full, Entry<A>> => {
        const bound = boundFor(counters, size)
        if (bound !== undefined) return refuse(item, bound)
        const number = ++counters.lastItem
        store.fresh.putSync(number, encodeRecord(size, encoded), APPEND)
        counters.waiting++
        counters.bytes += size
        const entry = newEntry(number, item)
        added.push({ number, entry, size })
        return right(entry)
      })
      const remember = bookmark !== undefined && answers.some(isRight) ? put(bookmark) : ignore
      return () => {
        remember()
        entries.enqueued(added)
        return answers
      }
    })
  }

  return {
    durable: true,
    enqueue,
    lease: (at, limits) => (closing === undefined ? entries.lease(at, limits) : []),
    nack: entries.nack,
    ack: entries.ack,
    addDeadLetter: async (item, outcome) => {
      const encoded = encode(codec, item)
      await commits.write(1, true, (counters) => {
        const record = encodeRecord(encoded.size, encoded.text)
        const about = aboutDead(newEntry(++counters.lastItem, item), outcome, now())
        deadLetters.add(counters, withAbout(record, about))
        return ignore
      })
    },
    takeRemaining: () => [],
    nextDue: (retriesOnly) => (closing === undefined ? entries.nextDue(retriesOnly) : undefined),
    dead: { list: deadLetters.list, redrive: deadLetters.redrive, purge: deadLetters.purge },
    ...bookmarks,
    stats: () => {
      const { waiting, bytes, dead, evictedDeadLetters } = commits.counters()
      return { waiting, bytes, dead, evictedDeadLetters, maxCount, maxBytes }
    },
    close: () => (closing ??= commits.end().then(close)),
  }
}

/**
 * Opens an outbox on a disk, or says why it cannot be opened. As `lmdbOutbox`, with the failure as a value.
 *
 * @throws ConfigError when an option is wrong.
 *
 * @example
 * import { openLmdbOutbox } from 'headrace/outbox/lmdb'
 *
 * const opened = openLmdbOutbox<string>({ path: '/dev/null/outbox' })
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
