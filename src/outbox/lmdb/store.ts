/**
 * The trees of a stored outbox in one lmdb file, and how it is opened: load lmdb, make the folder, lock it,
 * check its file, open its trees, compare kind and owner.
 *
 * - `fresh`: items that were never put back, by number, in the order of their enqueue;
 * - `retries`: items that wait for a retry, by due time and number;
 * - `dead`: dead letters, by number, in the order in which they ended;
 * - `bookmarks`: by the hash of its name, as JSON `[name, value]`;
 * - `meta`: version, kind, owner and counters.
 *
 * @module
 */
import { dirname, join } from 'node:path'
import type * as Lmdb from 'lmdb'
import { constVoid, isLeft, valueOr } from '../../core/either.ts'
import { codeOf, messageOf } from '../../core/failure.ts'
import { loadPackage } from '../../core/package.ts'
import { OutboxError } from './contract.ts'
import { FOREIGN, fileFault, nodeFs, type FileFault } from './fileCheck.ts'
import { LOCK_FILE, lock } from './lock.ts'

/** The version of this layout. A store with a later one is refused. */
const VERSION = 1

export type RetryKey = [due: number, number: number]

/** An open store. A value of `fresh` or `retries` is valid until the next read: it is not copied. */
export interface Store {
  readonly path: string
  readonly env: Lmdb.RootDatabase<Buffer, string>
  readonly fresh: Lmdb.Database<Buffer, number>
  readonly retries: Lmdb.Database<Buffer, RetryKey>
  readonly dead: Lmdb.Database<Buffer, number>
  readonly bookmarks: Lmdb.Database<string, string>
  readonly meta: Lmdb.Database<string, string>
}

const DATA_FILE = 'data.mdb'
const LOCKS_FILE = 'lock.mdb'
const VERSION_KEY = 'version'
const KIND_KEY = 'kind'
const OWNER_KEY = 'owner'
export const COUNTERS_KEY = 'counters'

/** `put` is typed for versions alone; lmdb takes its options too. */
const APPEND = { append: true } as never
/** Adds a record behind all others: lmdb skips the search and fills its pages. */
export const append = (tree: Lmdb.Database<Buffer, number>, key: number, record: Buffer): void => {
  // A commit that fails rejects this promise too.
  tree.put(key, record, APPEND).catch(constVoid)
}

/** The counters of a new store. Each transaction stores them, so opening a store counts nothing. */
export const NO_COUNTERS = {
  waiting: 0,
  bytes: 0,
  dead: 0,
  evictedDeadLetters: 0,
  /** The number of the last item. No number is used again, so ids are unique in a store. */
  lastItem: 0,
  lastDead: 0,
}

export type Counts = typeof NO_COUNTERS

/** The counters that a store holds; undefined if they are no counters. */
export const countersIn = ({ meta }: Pick<Store, 'meta'>): Counts | undefined =>
  valueOr(undefined, () => {
    // The next line finds values that are no numbers from 0.
    const counters = JSON.parse(meta.get(COUNTERS_KEY) ?? '') as Counts & Readonly<Record<string, number>>
    return Object.keys(NO_COUNTERS).every((key) => (counters[key] ?? -1) >= 0) ? counters : undefined
  })

/** Bytes of free space below which no new items are taken. */
export const RESERVED_SPACE = 8 * 1_048_576

/** The bytes of the disk for new items, negative without room; Infinity if the file system does not say. */
export const roomOnDisk = (path: string): number =>
  valueOr(Infinity, () => {
    const { bavail, blocks, bsize } = nodeFs().statfsSync(path)
    return blocks > 0 ? bavail * bsize - RESERVED_SPACE : Infinity
  })

type Stat =
  `tree${'Branch' | 'Leaf'}PageCount` | 'overflowPages' | 'lastPageNumber' | 'pageSize' | 'entryCount'
/** The statistics of a tree. lmdb does not type them. */
const statsOf = (tree: Lmdb.Database<Buffer>) => tree.getStats() as Record<Stat, number>

/** Bytes in the file of pages that no item uses. They are used before the file grows. */
export const roomInFile = ({ fresh, retries, dead }: Store): number => {
  const { lastPageNumber, pageSize } = statsOf(fresh)
  const used = [fresh, retries, dead]
    .map(statsOf)
    .map((one) => one.treeBranchPageCount + one.treeLeafPageCount + one.overflowPages)
  return (lastPageNumber - used.reduce((sum, pages) => sum + pages, 0)) * pageSize
}

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

/** Reads a value without a copy: a view on the part of lmdb's larger buffer. */
const view = {
  encode: (bytes: Buffer): Buffer => bytes,
  decode: ({ buffer, byteOffset, length }: Buffer): Buffer => Buffer.from(buffer, byteOffset, length),
}

/** `encoder` is missing in the types of lmdb. */
const VIEW = { encoding: 'binary', encoder: view } as const

/** Opens the trees, which it creates in a new store. */
const openTrees = (path: string, env: Store['env']): Store => ({
  path,
  env,
  fresh: env.openDB<Buffer, number>('fresh', VIEW),
  retries: env.openDB<Buffer, RetryKey>('retries', VIEW),
  dead: env.openDB<Buffer, number>('dead', { encoding: 'binary' }),
  bookmarks: env.openDB<string, string>('bookmarks', { encoding: 'string' }),
  meta: env.openDB<string, string>('meta', { encoding: 'string' }),
})

/** To be called in a transaction: a process that ends in it leaves a store without any tree. */
const createStore = (path: string, env: Store['env'], kind: string): Store => {
  const store = openTrees(path, env)
  const { meta } = store
  // Another process may have created it since.
  if (meta.get(VERSION_KEY) !== undefined) return store
  meta.putSync(VERSION_KEY, String(VERSION))
  meta.putSync(KIND_KEY, kind)
  meta.putSync(COUNTERS_KEY, JSON.stringify(NO_COUNTERS))
  return store
}

/** Whether a folder holds a store, or a file of its name. */
export const isStoreIn = (path: string): boolean => nodeFs().existsSync(join(path, DATA_FILE))

/** Bytes of the reader locks, which lmdb maps. On a full disk its first write there ends the process. */
const LOCKS_SIZE = 8_192

const WAYS_OUT = {
  notAnOutbox: 'give the outbox a folder of its own',
  damaged: 'it was left as it is; bring back a copy of it, or move it away to begin with a new one',
} as const

const badFile = (path: string, { reason, what }: FileFault): OutboxError =>
  new OutboxError(reason, path, `${join(path, DATA_FILE)} ${what}: ${WAYS_OUT[reason]}`)

const UNSEEN = 'by a process that cannot be seen from here, ending or of another container: end it first'

const usedBy = (path: string, by: string): OutboxError =>
  new OutboxError('inUse', path, `the outbox in ${path} is in use ${by}`)

const noSpace = (path: string): OutboxError => {
  const message = `no space is left for the outbox in ${path}: make some, or give it another folder`
  return new OutboxError('noSpace', path, message)
}

/** lmdb gives the words of the system, without a code. */
const isFull = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT'].includes(codeOf(error)) || messageOf(error).includes('No space left')

const IS_FILE = 'a file, or a link to nothing, is at its path: give the outbox another folder'

/** What to do about an error of the system, by its code. */
const REMEDIES: Readonly<Record<string, string>> = {
  EEXIST: IS_FILE,
  ENOTDIR: IS_FILE,
  EMFILE: 'this process has too many files open: close some, or raise its limit',
  ENOENT: 'the working directory does not exist: give a full path',
  EROFS: 'the file system is read-only: mount a volume there',
}

const systemError = (path: string, error: unknown): OutboxError => {
  if (isFull(error)) return noSpace(path)
  const remedy = REMEDIES[codeOf(error)] ?? 'let this user make, read and write it'
  const message = `the folder ${path} of the outbox cannot be used: ${remedy}`
  return new OutboxError('noAccess', path, `${message} (${messageOf(error)})`)
}

/** Makes a folder. Node's recursive mkdir hides a read-only disk, and spins in a deleted folder. */
const makeFolder = (path: string, isAgain = false): void => {
  try {
    nodeFs().mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (valueOr(false, () => nodeFs().statSync(path).isDirectory())) return
    const parent = dirname(path)
    if (isAgain || codeOf(error) !== 'ENOENT' || nodeFs().existsSync(parent)) throw error
    makeFolder(parent)
    makeFolder(path, true)
  }
}

const LMDB = Symbol.for('headrace.lmdb')
const loadLmdb = (path: string): typeof Lmdb => {
  try {
    // Two copies of lmdb in a process mix up files of deleted folders: copies of headrace share one.
    const lmdb: unknown = Reflect.get(globalThis, LMDB) ?? loadPackage('lmdb')
    Reflect.set(globalThis, LMDB, lmdb)
    // An optional peer dependency, loaded when an outbox is opened. `require` has no types.
    return lmdb as typeof Lmdb
  } catch (error) {
    if (codeOf(error) === 'EMFILE') throw systemError(path, error)
    const [reason = ''] = messageOf(error).split('\n')
    const message = 'an outbox on a disk needs the package lmdb, which could not be loaded'
    throw new OutboxError('missing', path, `${message}: run "npm install lmdb" (${reason})`)
  }
}

/** lmdb opens three files. If it may not, it ends the process. */
const assertMayOpen = (path: string): void => {
  const files: number[] = []
  try {
    while (files.length < 3) files.push(nodeFs().openSync(path, 'r'))
  } finally {
    for (const file of files) nodeFs().closeSync(file)
  }
}

/** A link in a folder of another user would have us write into any file, and a pipe would never be read. */
const assertFiles = (path: string): void => {
  for (const file of [DATA_FILE, LOCKS_FILE, LOCK_FILE].map((name) => join(path, name)))
    if (nodeFs().lstatSync(file, { throwIfNoEntry: false })?.isFile() === false)
      throw new OutboxError('notAnOutbox', path, `${file} is a link, or no file: ${WAYS_OUT.notAnOutbox}`)
}

/** Checks the files in the folder as far as lmdb would end the process, or hide the reason. */
const checkFiles = (path: string): void => {
  const { accessSync, constants, statSync, writeFileSync } = nodeFs()
  const data = join(path, DATA_FILE)
  const locks = join(path, LOCKS_FILE)
  if (isStoreIn(path)) {
    accessSync(data, constants.R_OK | constants.W_OK)
    const fault = fileFault(data)
    if (fault !== undefined) throw badFile(path, fault)
  } else if (roomOnDisk(path) < 0) throw noSpace(path)
  const found = statSync(locks, { throwIfNoEntry: false })
  if (found === undefined || found.size === 0) writeFileSync(locks, Buffer.alloc(LOCKS_SIZE), { mode: 0o600 })
  else accessSync(locks, constants.R_OK | constants.W_OK)
  assertMayOpen(path)
}

const checkVersion = (env: Store['env'], path: string): void => {
  // `create: false` is missing in the types of lmdb: then a missing tree is undefined.
  const options = { encoding: 'string', create: false } as const
  const meta = env.openDB<string, string>('meta', options) as Store['meta'] | undefined
  const version = Number(meta?.get(VERSION_KEY) ?? NaN)
  if (!Number.isSafeInteger(version)) throw badFile(path, FOREIGN)
  if (version <= VERSION) return
  const known = `and this headrace knows up to ${String(VERSION)}: use the headrace that wrote it`
  throw new OutboxError('newerVersion', path, `the outbox in ${path} has layout ${String(version)}, ${known}`)
}

/** Keys of a tree that are read when a store is opened. */
const MAX_KEYS = 50_000

/** Whether the trees match the counters, under keys that headrace wrote: others would never end. */
const isConsistent = ({ fresh, retries, dead }: Store, counters: Counts): boolean => {
  const last = (tree: Lmdb.Database<Buffer, number>) => [...tree.getKeys({ reverse: true, limit: 1 })][0] ?? 0
  const numbers = new Set<unknown>()
  const isNew = (number: number): boolean => {
    const known = numbers.size
    return Number.isSafeInteger(number) && number <= counters.lastItem && numbers.add(number).size > known
  }
  return (
    statsOf(fresh).entryCount + statsOf(retries).entryCount === counters.waiting &&
    statsOf(dead).entryCount === counters.dead &&
    last(fresh) <= counters.lastItem &&
    last(dead) <= counters.lastDead &&
    [...fresh.getKeys({ limit: MAX_KEYS })].every((key) => isNew(key) && fresh.doesExist(key)) &&
    [...retries.getKeys({ limit: MAX_KEYS })].every(
      (key) => Number.isFinite(key[0]) && isNew(key[1]) && retries.doesExist(key),
    )
  )
}

/** Throws unless the store has the expected kind and owner. An empty store may be taken by another owner. */
const checkContent = (store: Store, counters: Counts | undefined, kind: string, owner?: string): void => {
  const { env, meta, path } = store
  if (counters === undefined) throw badFile(path, { reason: 'damaged', what: 'has lost its counters' })
  if (!isConsistent(store, counters))
    throw badFile(path, { reason: 'damaged', what: 'does not match its counters' })
  const refuse = (reason: 'otherKind' | 'otherOwner', message: string): never => {
    throw new OutboxError(reason, path, `the outbox in ${path} ${message}`)
  }
  const own = 'give each its own folder'
  const foundKind = String(meta.get(KIND_KEY))
  if (foundKind !== kind) refuse('otherKind', `holds ${foundKind}, and was opened for ${kind}: ${own}`)
  const found = meta.get(OWNER_KEY)
  if (owner === undefined || found === owner) return
  if (found !== undefined && counters.waiting + counters.dead > 0) {
    const theirs = JSON.stringify(found)
    const ours = JSON.stringify(owner)
    const same = `if it is the same one under a new name, set the owner of this outbox to ${theirs}`
    refuse('otherOwner', `belongs to ${theirs}, and was opened for ${ours}: ${own}, or, ${same}`)
  }
  env.transactionSync(() => meta.putSync(OWNER_KEY, owner))
}

const openLocked = <T>(
  lmdb: typeof Lmdb,
  path: string,
  kind: string,
  owner: string | undefined,
  begin: (store: Store) => T,
): { readonly env: Store['env']; readonly begun: T } => {
  checkFiles(path)
  const env = lmdb.open<Buffer, string>(path, ENV)
  try {
    // A lock file does not show another container, lmdb does. If its process has our id, a read would wait.
    const readers = () => new Set(env.readerList().match(/^ *\d+ \w+/gm)).size
    if (readers() > 0) throw usedBy(path, UNSEEN)
    const isNew = env.getKeysCount({ limit: 1 }) === 0
    if (!isNew) checkVersion(env, path)
    const store = isNew ? env.transactionSync(() => createStore(path, env, kind)) : openTrees(path, env)
    const counters = countersIn(store) // A read: the later of two that open at once sees both.
    if (readers() > 1) throw usedBy(path, UNSEEN)
    checkContent(store, counters, kind, owner)
    return { env, begun: begin(store) }
  } catch (error) {
    // Nothing is under way in it, so it is closed when this returns.
    env.close().catch(() => undefined)
    if (error instanceof OutboxError) throw error
    if (isFull(error)) throw noSpace(path)
    throw badFile(path, { reason: 'damaged', what: `cannot be read (${messageOf(error)})` })
  }
}

/**
 * Opens and locks the store at an absolute path. `now` is for the lock file. `begin` reads to memory.
 *
 * @throws OutboxError when it cannot be opened.
 */
export const openStore = <T>(
  path: string,
  kind: string,
  owner: string | undefined,
  now: number,
  begin: (store: Store) => T,
) => {
  const lmdb = loadLmdb(path)
  let release: (() => void) | undefined
  try {
    makeFolder(path)
    assertFiles(path)
    const locked = lock(path, now)
    if (isLeft(locked)) throw usedBy(path, locked.left)
    release = locked.right
    const { env, begun } = openLocked(lmdb, path, kind, owner, begin)
    return { begun, close: () => env.close().then(release) }
  } catch (error) {
    release?.()
    throw error instanceof OutboxError ? error : systemError(path, error)
  }
}
