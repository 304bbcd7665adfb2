import { nodeCrypto } from '../../core/package.ts'
import type * as t from 'io-ts'
import { resolve } from 'node:path'
import { constVoid, left, right, valueOr, type Either } from '../../core/either.ts'
import { steady, systemClock } from '../../core/clock.ts'
import { checkOptions, clockOption, func, methods, optional, strict, text } from '../../core/options.ts'
import { wholeNumber, withDefault } from '../../core/options.ts'
import { inUse, type Bookmark, type CorruptRecord, type ItemCodec } from '../outbox.ts'
import { groupCommit } from './commit.ts'
import { OutboxError, type LmdbOutbox, type LmdbOutboxOptions, type OutboxFault } from './contract.ts'
import { offerOf } from '../stored.ts'
import { storedEntries } from './entries.ts'
import { jsonCodec } from './jsonCodec.ts'
import { openStore, type Store } from './store.ts'

/** The key of a bookmark, because a name may be longer than a key of lmdb, and may be no UTF-8. */
const keyOf = (name: string): string => nodeCrypto().hash('sha256', JSON.stringify(name), 'hex')

/** The checked options. The types hold the rest. */
const outboxOptions = strict({
  path: text,
  codec: optional(methods<ItemCodec<unknown>>('an ItemCodec', 'toText', 'fromText', 'sizeOf')),
  item: optional(methods<t.Type<unknown>>('an io-ts codec', 'encode', 'decode')),
  maxCount: withDefault(wholeNumber('items', 1), 2_000_000),
  maxBytes: withDefault(wholeNumber('bytes', 1), 8_589_934_592),
  keepDead: optional(wholeNumber('items', 0)),
  owner: optional(text),
  clock: optional(clockOption),
  onCorrupt: optional(func<(record: CorruptRecord) => void>()),
})

const KEEP_DEAD_KEY = 'keepDead'

/** The store keeps the bound: a command gives none, and must not delete the application's dead letters. */
const keepDeadIn = ({ env, meta }: Store, given: number | undefined): number => {
  const last = Number(meta.get(KEEP_DEAD_KEY) ?? NaN)
  if (given === undefined) return last >= 0 ? last : 100_000
  if (given !== last) env.transactionSync(() => meta.putSync(KEEP_DEAD_KEY, String(given)))
  return given
}

/**
 * An outbox in a folder. Its accepted items survive a crash of the process and of the machine: it answers an
 * enqueue after the sync to the disk. Concurrent writes share one sync. Millions may wait: they are on the
 * disk and not in memory, in the order in which they are leased. One process at a time may have it open; the
 * folder of a process that ended is taken over. Closing deletes nothing.
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
 * const [entry] = await again.lease(0, { count: 10, retries: 0 })
 * console.log(entry?.id, entry?.item) // => 1 a
 * await again.close()
 * rmSync(path, { recursive: true })
 */
export const lmdbOutbox = <A>(options: LmdbOutboxOptions<A>): LmdbOutbox<A> => {
  const { path, ...bounds } = checkOptions('lmdb outbox', outboxOptions, options)
  const { codec = jsonCodec<A>(options.item), owner, clock = systemClock, onCorrupt = constVoid } = options
  const now = steady(clock)
  // Where the working directory was deleted there is no full path, and the opening says so.
  const absolute = valueOr(path, () => resolve(path))
  const { begun, close } = openStore(absolute, codec.kind ?? 'items', owner, now(), (store) => {
    const commits = groupCommit(store)
    const keepDead = keepDeadIn(store, bounds.keepDead)
    const entries = storedEntries(store, commits, codec, { ...bounds, keepDead }, now, onCorrupt)
    return { commits, entries, bookmarks: store.bookmarks }
  })
  const { commits, entries, bookmarks } = begun
  /** In a transaction, which is synced before the call that it serves is answered. */
  const put = ({ name, value }: Bookmark) => void bookmarks.put(keyOf(name), JSON.stringify([name, value]))
  /** An enqueue failed: a later bookmark would skip its items. */
  let hasGap = false
  let closing: Promise<void> | undefined

  const outbox: LmdbOutbox<A> = {
    keeps: () => true,
    enqueue: async (items, { bookmark } = {}) => {
      try {
        const offers = items.map((item) => offerOf(codec, item))
        return await entries.enqueue(offers, () => bookmark && !hasGap && put(bookmark))
      } catch (error) {
        // In the turn of the failure: the next transaction begins in it.
        hasGap = true
        throw error
      }
    },
    lease: (at, limits) => (closing === undefined ? entries.lease(at, limits) : []),
    retries: entries.retries,
    nack: entries.nack,
    ack: entries.ack,
    addDeadLetter: async (item, outcome) => entries.addDeadLetter(offerOf(codec, item), outcome),
    takeRemaining: () => [],
    nextDue: (retriesOnly) => (closing === undefined ? entries.nextDue(retriesOnly) : undefined),
    dead: {
      ...entries.deadLetters,
      redrive: async (matches) => {
        const ids = await entries.deadLetters.redrive(matches)
        inUse.get(outbox)?.()
        return ids
      },
    },
    bookmark: (name) => {
      const stored = closing === undefined ? bookmarks.get(keyOf(name)) : undefined
      // Written by `put`.
      return stored === undefined ? undefined : (JSON.parse(stored) as [string, string])[1]
    },
    remember: (bookmark) =>
      commits.write(1, true, () => {
        put(bookmark)
        return constVoid
      }),
    stats: () => {
      const { waiting, bytes, dead, evictedDeadLetters } = commits.counters()
      const { maxCount, maxBytes } = bounds
      return { waiting, bytes, dead, evictedDeadLetters, maxCount, maxBytes }
    },
    close: () => (closing ??= commits.end().then(close)),
  }
  return outbox
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
    const { reason, message } = error
    return left({ _tag: 'OutboxFault', reason, path: error.path, message })
  }
}
