import { isLeft } from 'fp-ts/lib/Either.js'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type * as Lmdb from 'lmdb'
import { onTestFinished } from 'vitest'
import { refused } from '../../src/index.ts'
import type { Entry } from '../../src/outbox/index.ts'
import { delivered, rejected } from '../../src/core/outcome.ts'
import type { LmdbOutbox, LmdbOutboxOptions } from '../../src/outbox/lmdb/contract.ts'
import { lmdbOutbox, openLmdbOutbox } from '../../src/outbox/lmdb/lmdbOutbox.ts'
import { textCodec } from '../support/folder.ts'

/** It is closed when the test is over, unless the test did that. */
export const open = (path: string, options: Partial<LmdbOutboxOptions<string>> = {}): LmdbOutbox<string> => {
  const outbox = lmdbOutbox<string>({ path, codec: textCodec, ...options })
  onTestFinished(() => outbox.close())
  return outbox
}

export const faultOf = (path: string, options: Partial<LmdbOutboxOptions<string>> = {}) => {
  const opened = openLmdbOutbox<string>({ path, codec: textCodec, ...options })
  return isLeft(opened) ? opened.left : undefined
}

export const ALL = { count: 10_000, retries: 10_000 }
export const all = async (outbox: LmdbOutbox<string>) => outbox.lease(Number.MAX_VALUE, ALL)

export const yes = (entry: Entry<string>) => ({ entry, outcome: delivered(entry.item, 1, { sink: 'a' }) })
export const no = (entry: Entry<string>) => ({ entry, outcome: rejected(entry.item, 1, refused('status')) })

// `require` has no types; these describe the package.
export const lmdb = createRequire(import.meta.url)('lmdb') as typeof Lmdb
export const data = (path: string): string => join(path, 'data.mdb')

/** Changes a closed store behind the back of the outbox. */
export const tamper = async (path: string, change: (env: Lmdb.RootDatabase) => void): Promise<void> => {
  const env = lmdb.open({ path, noSubdir: false, encoding: 'binary', maxDbs: 8 })
  change(env)
  await env.close()
}
