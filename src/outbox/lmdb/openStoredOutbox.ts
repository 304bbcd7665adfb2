import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { resolve } from 'node:path'
import { steady, systemClock } from '../../core/clock.ts'
import { wholeNumber } from '../../core/json.ts'
import type { LmdbOutboxOptions } from './LmdbContract.ts'
import { loadLmdb } from './opening/loadLmdb.ts'
import { outboxFault } from './OutboxError.ts'
import type { OutboxFault } from './OutboxError.ts'
import { belonging } from './opening/belonging.ts'
import { claim } from './opening/claim.ts'
import { thisThread } from './opening/Owner.ts'
import { makeFolder } from './opening/makeFolder.ts'
import { openStore } from './opening/openStore.ts'
import { mapping } from './mapping.ts'
import { identityOf, openEnv, openTrees, shut } from './oldStore.ts'
import type { Store } from './oldStore.ts'
import { storedOutbox } from './storedOutbox.ts'
import type { StoredOutbox } from './storedOutbox.ts'
import { wear } from './wear.ts'

const NO_PATH = 'the outbox has no path: give the folder in which it lies, as text'

/** The whole path, for the file is opened anew from time to time, and the working folder may be another by then. */
const folderOf = (path: unknown): Either<OutboxFault, string> =>
  typeof path === 'string' && path !== '' ? right(resolve(path)) : left(outboxFault('noAccess', '', NO_PATH))

/**
 * Opens a store, or says why it cannot be opened.
 *
 * @throws RangeError when `maxCount` or `maxBytes` is not a whole number from 1, or `keepDead` one from 0.
 */
export const openStoredOutbox = <A>(options: LmdbOutboxOptions<A>): Either<OutboxFault, StoredOutbox<A>> => {
  const { codec, clock = systemClock } = options
  const bounds = {
    maxCount: wholeNumber('lmdbOutbox: maxCount', 'items', 1, options.maxCount ?? 2_000_000),
    maxBytes: wholeNumber('lmdbOutbox: maxBytes', 'bytes', 1, options.maxBytes ?? 8_589_934_592),
    keepDead: wholeNumber('lmdbOutbox: keepDead', 'items', 0, options.keepDead ?? 100_000),
  }
  const now = steady(clock)

  const folder = folderOf(options.path)
  if (isLeft(folder)) return folder
  const path = folder.right
  const loaded = loadLmdb(path)
  if (isLeft(loaded)) return loaded
  const made = makeFolder(path)
  if (isLeft(made)) return made
  const claimed = claim(path, thisThread(now()))
  if (isLeft(claimed)) return claimed
  const { isHeld, release } = claimed.right
  const opened = openStore(loaded.right, path, codec.kind)
  if (isLeft(opened)) {
    release()
    return left(opened.left)
  }
  const fault = belonging(opened.right, path, options.owner)
  if (fault !== undefined) {
    shut(opened.right.env)
    release()
    return left(fault)
  }
  const identity = identityOf(path)
  const open = (): Store => {
    const found = identityOf(path)
    // lmdb would make a new one in its place, with nothing in it.
    if (found === undefined) throw new Error(`the outbox in ${path} is gone: somebody has removed its file`)
    // What is known of one store says nothing of another.
    if (found !== identity || !isHeld())
      throw new Error(`the outbox in ${path} is another one by now: bring back the folder that was there`)
    return openTrees(openEnv(loaded.right, path))
  }
  const mapped = mapping({ store: opened.right, open, isWorn: wear() })
  return right(storedOutbox({ path, mapping: mapped, codec, ...bounds, now, release }))
}
