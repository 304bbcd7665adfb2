/**
 * The trees of a stored outbox, and how they are opened.
 *
 * - `fresh`: what was never put back, by the number of its append;
 * - `parked`: what waits for a retry, by due time and number;
 * - `dead`: dead letters, by the order in which they ended;
 * - `aside`: records that could not be read, as they were found;
 * - `drafts`: parts of items that are not whole yet, by number;
 * - `marks`: bookmarks by name; `own`: the version of this layout, the kind of the items, and the counters.
 *
 * @module
 */
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type * as Lmdb from 'lmdb'
import { messageOf } from '../../internal/messageOf.ts'
import { fileFault } from './opening/fileFault.ts'
import { outboxFault } from './OutboxError.ts'
import type { OutboxFault } from './OutboxError.ts'
import { noTotals, totalsFromText, totalsToText } from './records/StoredTotals.ts'
import { systemFault } from './opening/systemFault.ts'

/** The version of the layout. A store that names a later one is left alone. */
export const VERSION = 1

/** What lies in a store whose codec does not say. */
const DEFAULT_KIND = 'items'

/** Due time, and number of the append. */
export type ParkedKey = [due: number, number: number]

/** An open store. What is read of `fresh` and `parked` by `get` and `getRange` is good until the next value is read, so that nothing is copied. */
export interface Store {
  readonly env: Lmdb.RootDatabase<Buffer, string>
  readonly fresh: Lmdb.Database<Buffer, number>
  readonly parked: Lmdb.Database<Buffer, ParkedKey>
  readonly dead: Lmdb.Database<Buffer, number>
  readonly aside: Lmdb.Database<Buffer, number>
  readonly drafts: Lmdb.Database<Buffer, number>
  readonly marks: Lmdb.Database<string, string>
  readonly own: Lmdb.Database<string, string>
}

const DATA_FILE = 'data.mdb'
const VERSION_KEY = 'version'
const KIND_KEY = 'kind'
/** Where the counters stand among what is the store's own. */
export const TOTALS_KEY = 'totals'

/** Opens the file of a store that is there. */
export const openEnv = (lmdb: typeof Lmdb, path: string): Store['env'] =>
  lmdb.open<Buffer, string>(path, {
    // Else a commit is answered before it is synced (durability 1c).
    overlappingSync: false,
    // With it, a commit that fails is also an unhandled rejection, which would end the host.
    eventTurnBatching: false,
    noSubdir: false,
    encoding: 'binary',
    maxDbs: 8,
  })

/** Copies a value out of the buffer that lmdb will use for the next one: into Node's pool, where lmdb would make a memory for each. */
const pooled = {
  encode: (bytes: Buffer): Buffer => bytes,
  decode: (bytes: Buffer): Buffer => {
    const copy = Buffer.allocUnsafe(bytes.length)
    copy.set(bytes.subarray(0, bytes.length))
    return copy
  },
}

/** Shows a value in the memory that lmdb will use for the next one: that is larger than the length it tells, and of a long value no Buffer. */
const shown = {
  encode: pooled.encode,
  decode: ({ buffer, byteOffset, length }: Buffer): Buffer => Buffer.from(buffer, byteOffset, length),
}

/** `encoder` is not among the types of lmdb. */
const KEPT = { encoding: 'binary', encoder: pooled } as const
const LOOKED_AT = { encoding: 'binary', encoder: shown } as const

/** Opens the trees of a store, and makes those that are not there. */
export const openTrees = (env: Store['env']): Store => ({
  env,
  fresh: env.openDB<Buffer, number>('fresh', LOOKED_AT),
  parked: env.openDB<Buffer, ParkedKey>('parked', LOOKED_AT),
  dead: env.openDB<Buffer, number>('dead', KEPT),
  aside: env.openDB<Buffer, number>('aside', { encoding: 'binary' }),
  drafts: env.openDB<Buffer, number>('drafts', KEPT),
  marks: env.openDB<string, string>('marks', { encoding: 'string' }),
  own: env.openDB<string, string>('own', { encoding: 'string' }),
})

const ignore = (): void => undefined

/** Nothing is under way in it, so it is closed when this returns, whatever its promise says later. */
const shut = (env: Store['env']): void => {
  env.close().then(ignore, ignore)
}

/** What was synced into a file is safe only when its name is, too. Not every system lets one sync a folder. */
const syncFolder = (path: string): void => {
  try {
    const folder = openSync(path, 'r')
    fsyncSync(folder)
    closeSync(folder)
  } catch {
    return
  }
}

/** A store comes into being in one step, with all its trees: so a file that lies in its place and is not whole was damaged. */
const create = (lmdb: typeof Lmdb, path: string, kind: string): void => {
  const draft = join(path, 'new')
  rmSync(draft, { recursive: true, force: true })
  const { env, own } = openTrees(openEnv(lmdb, draft))
  env.transactionSync(() => {
    own.putSync(VERSION_KEY, String(VERSION))
    own.putSync(KIND_KEY, kind)
    own.putSync(TOTALS_KEY, totalsToText(noTotals))
  })
  shut(env)
  renameSync(join(draft, DATA_FILE), join(path, DATA_FILE))
  rmSync(draft, { recursive: true, force: true })
  syncFolder(path)
}

/** The store's own tree, if there is one: `create: false`, which the types of lmdb do not know, answers undefined then. */
const ownOf = (env: Store['env']): Store['own'] | undefined => {
  const options = { encoding: 'string', create: false } as const
  return env.openDB<string, string>('own', options)
}

/** What is wrong with a store that lmdb can open. */
const contentFault = (env: Store['env'], path: string, kind: string): OutboxFault | undefined => {
  const own = ownOf(env)
  const version = Number(own?.get(VERSION_KEY) ?? NaN)
  if (own === undefined || !Number.isSafeInteger(version))
    return outboxFault('notAnOutbox', path, notAnOutbox(path, 'was not written by headrace'))
  if (version > VERSION)
    return outboxFault(
      'newerVersion',
      path,
      `the outbox in ${path} has layout ${String(version)}, and this headrace knows up to ${String(VERSION)}: use the headrace that wrote it`,
    )
  const found = own.get(KIND_KEY) ?? DEFAULT_KIND
  if (found !== kind)
    return outboxFault(
      'otherKind',
      path,
      `the outbox in ${path} holds ${found}, and was opened for ${kind}: give each its own folder`,
    )
  return totalsFromText(own.get(TOTALS_KEY) ?? '') === undefined
    ? outboxFault('damaged', path, damaged(path, 'has lost its counters'))
    : undefined
}

const notAnOutbox = (path: string, what: string): string =>
  `${join(path, DATA_FILE)} ${what}: give the outbox a folder of its own`

const damaged = (path: string, what: string): string =>
  `${join(path, DATA_FILE)} ${what}: it was left as it is; bring back a copy of the folder, or move it away to begin anew`

const openExisting = (lmdb: typeof Lmdb, path: string, kind: string): Either<OutboxFault, Store> => {
  const fault = fileFault(join(path, DATA_FILE))
  if (fault !== undefined) {
    const say = fault.reason === 'damaged' ? damaged : notAnOutbox
    return left(outboxFault(fault.reason, path, say(path, fault.what)))
  }
  const env = openEnv(lmdb, path)
  try {
    const wrong = contentFault(env, path, kind)
    if (wrong === undefined) return right(openTrees(env))
    shut(env)
    return left(wrong)
  } catch (error) {
    shut(env)
    return left(outboxFault('damaged', path, damaged(path, `cannot be read (${messageOf(error)})`)))
  }
}

/** Whether a folder holds a store, or what looks like one. */
export const isStoreIn = (path: string): boolean => existsSync(join(path, DATA_FILE))

/** Makes the folder of a store, if it is not there. */
export const makeFolder = (path: string): Either<OutboxFault, void> => {
  try {
    // Events are somebody's data: the folder is for this user alone.
    mkdirSync(path, { recursive: true, mode: 0o700 })
    return right(undefined)
  } catch (error) {
    return left(systemFault(path, error))
  }
}

/** Opens the store in a folder that is there and is ours, and makes one if there is none. */
export const openStore = (
  lmdb: typeof Lmdb,
  path: string,
  kind: string = DEFAULT_KIND,
): Either<OutboxFault, Store> => {
  try {
    if (!isStoreIn(path)) create(lmdb, path, kind)
    const opened = openExisting(lmdb, path, kind)
    return isLeft(opened) ? opened : right(opened.right)
  } catch (error) {
    return left(systemFault(path, error))
  }
}
