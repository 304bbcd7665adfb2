import {
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type * as Lmdb from 'lmdb'
import { noTotals, totalsToText } from '../records/StoredTotals.ts'
import {
  DATA_FILE,
  KIND_KEY,
  LOCK_FILE,
  TOTALS_KEY,
  VERSION,
  VERSION_KEY,
  openEnv,
  openTrees,
  shut,
} from '../oldStore.ts'

/** A folder in the folder, in which a store is made before it is put in its place. A name that nobody else uses. */
const DRAFT = '.headrace-new'

/** Bytes that are enough for a new store, with pages of any size. */
const NEW_STORE = 524_288

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

/** Takes away what is left of a draft: the files that lmdb made, and never anything else. */
const clear = (draft: string): void => {
  const found = lstatSync(draft, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isDirectory()) throw new Error(`${draft} is not a folder`)
  for (const name of [DATA_FILE, LOCK_FILE]) rmSync(join(draft, name), { force: true })
  rmdirSync(draft)
}

/** lmdb would say of a full disk that it failed, and not why. */
const proveRoom = (file: string): void => {
  writeFileSync(file, Buffer.alloc(NEW_STORE), { flush: true })
  rmSync(file)
}

const write = (lmdb: typeof Lmdb, draft: string, kind: string): void => {
  const env = openEnv(lmdb, draft)
  try {
    const { own } = openTrees(env)
    env.transactionSync(() => {
      own.putSync(VERSION_KEY, String(VERSION))
      own.putSync(KIND_KEY, kind)
      own.putSync(TOTALS_KEY, totalsToText(noTotals))
    })
  } finally {
    shut(env)
  }
}

/** A store comes into being in one step, with all its trees: so a file that lies in its place and is not whole was damaged. */
export const makeStore = (lmdb: typeof Lmdb, path: string, kind: string): void => {
  const draft = join(path, DRAFT)
  clear(draft)
  mkdirSync(draft, { mode: 0o700 })
  try {
    proveRoom(join(draft, DATA_FILE))
    write(lmdb, draft, kind)
    renameSync(join(draft, DATA_FILE), join(path, DATA_FILE))
  } finally {
    clear(draft)
  }
  syncFolder(path)
}
