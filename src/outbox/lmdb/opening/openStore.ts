import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { join } from 'node:path'
import type * as Lmdb from 'lmdb'
import { messageOf } from '../../../core/awaitable.ts'
import { outboxFault } from '../OutboxError.ts'
import type { OutboxFault } from '../OutboxError.ts'
import { totalsFromText } from '../records/StoredTotals.ts'
import {
  DATA_FILE,
  KIND_KEY,
  TOTALS_KEY,
  VERSION,
  VERSION_KEY,
  isStoreIn,
  openEnv,
  openTrees,
  shut,
} from '../oldStore.ts'
import type { Store } from '../oldStore.ts'
import { fileFault } from './fileFault.ts'
import { makeStore } from './makeStore.ts'
import { systemFault } from './systemFault.ts'

/** What lies in a store whose codec does not say. */
const DEFAULT_KIND = 'items'

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

/** Opens the store in a folder that is there and is ours, and makes one if there is none. */
export const openStore = (
  lmdb: typeof Lmdb,
  path: string,
  kind: string = DEFAULT_KIND,
): Either<OutboxFault, Store> => {
  try {
    if (!isStoreIn(path)) makeStore(lmdb, path, kind)
    return openExisting(lmdb, path, kind)
  } catch (error) {
    return left(systemFault(path, error))
  }
}
