/**
 * The trees of a stored outbox in one lmdb file.
 *
 * - `fresh`: items that were never put back, by number, in the order of their enqueue;
 * - `retries`: items that wait for a retry, by due time and number;
 * - `dead`: dead letters, by number, in the order in which they ended;
 * - `bookmarks`: by number, as JSON `[name, value]`;
 * - `meta`: version, kind, owner and counters.
 *
 * @module
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type * as Lmdb from 'lmdb'

/** The version of this layout. A store with a later one is refused. */
export const VERSION = 1

/** Due time, and number of the item. */
export type RetryKey = [due: number, number: number]

/** An open store. A value read from `fresh` or `retries` is valid only until the next read: it is not copied. */
export interface Store {
  readonly path: string
  readonly env: Lmdb.RootDatabase<Buffer, string>
  readonly fresh: Lmdb.Database<Buffer, number>
  readonly retries: Lmdb.Database<Buffer, RetryKey>
  readonly dead: Lmdb.Database<Buffer, number>
  readonly bookmarks: Lmdb.Database<string, number>
  readonly meta: Lmdb.Database<string, string>
}

export const DATA_FILE = 'data.mdb'
export const LOCKS_FILE = 'lock.mdb'
export const VERSION_KEY = 'version'
export const KIND_KEY = 'kind'
export const OWNER_KEY = 'owner'
export const COUNTERS_KEY = 'counters'

/** The key is larger than every other key: lmdb skips the search and fills its pages. */
export const APPEND = { append: true } as const

/** `permissionsMode` is missing in the types of lmdb. */
const ENV = {
  // With it, a commit is answered before it is synced.
  overlappingSync: false,
  // With it, a commit that fails is an unhandled rejection too, which ends the process.
  eventTurnBatching: false,
  noSubdir: false,
  encoding: 'binary',
  maxDbs: 8,
  permissionsMode: 0o600,
} as const

/** Reads a value without a copy. The buffer of lmdb is larger than the value, so this is a view on its part. */
const view = {
  encode: (bytes: Buffer): Buffer => bytes,
  decode: ({ buffer, byteOffset, length }: Buffer): Buffer => Buffer.from(buffer, byteOffset, length),
}

/** `encoder` is missing in the types of lmdb. */
const VIEW = { encoding: 'binary', encoder: view } as const

export const openEnv = (lmdb: typeof Lmdb, path: string): Store['env'] => lmdb.open<Buffer, string>(path, ENV)

/** Opens the trees and creates missing ones. */
export const openTrees = (path: string, env: Store['env']): Store => ({
  path,
  env,
  fresh: env.openDB<Buffer, number>('fresh', VIEW),
  retries: env.openDB<Buffer, RetryKey>('retries', VIEW),
  dead: env.openDB<Buffer, number>('dead', { encoding: 'binary' }),
  bookmarks: env.openDB<string, number>('bookmarks', { encoding: 'string' }),
  meta: env.openDB<string, string>('meta', { encoding: 'string' }),
})

/** Whether a folder holds a store, or a file of its name. */
export const isStoreIn = (path: string): boolean => existsSync(join(path, DATA_FILE))
