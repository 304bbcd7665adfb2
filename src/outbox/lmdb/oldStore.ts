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
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type * as Lmdb from 'lmdb'
import { checkFiles } from './opening/checkFiles.ts'

/** The version of the layout. A store that names a later one is left alone. */
export const VERSION = 1

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

/** The two files of lmdb. */
export const DATA_FILE = 'data.mdb'
export const LOCK_FILE = 'lock.mdb'
export const VERSION_KEY = 'version'
export const KIND_KEY = 'kind'
/** Where the counters stand among what is the store's own. */
export const TOTALS_KEY = 'totals'

/** `permissionsMode` is not among the types of lmdb. */
const ENV = {
  // Else a commit is answered before it is synced (durability 1c).
  overlappingSync: false,
  // With it, a commit that fails is also an unhandled rejection, which would end the host.
  eventTurnBatching: false,
  noSubdir: false,
  encoding: 'binary',
  maxDbs: 8,
  // Events are somebody's data: the files are for this user alone, in whatever folder they lie.
  permissionsMode: 0o600,
} as const

/** Opens the file of a store that is there. */
export const openEnv = (lmdb: typeof Lmdb, path: string): Store['env'] => {
  checkFiles(join(path, DATA_FILE), join(path, LOCK_FILE))
  return lmdb.open<Buffer, string>(path, ENV)
}

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
export const shut = (env: Store['env']): void => {
  env.close().then(ignore, ignore)
}

/** Whether a folder holds a store, or what looks like one. */
export const isStoreIn = (path: string): boolean => existsSync(join(path, DATA_FILE))

/** Tells the store in a folder from any other that may come to lie there; undefined if there is none. */
export const identityOf = (path: string): string | undefined => {
  const found = statSync(join(path, DATA_FILE), { bigint: true, throwIfNoEntry: false })
  return found && `${String(found.dev)} ${String(found.ino)}`
}
