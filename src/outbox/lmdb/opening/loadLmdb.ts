import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { createRequire } from 'node:module'
import type * as Lmdb from 'lmdb'
import { messageOf } from '../../../core/awaitable.ts'
import { outboxFault } from '../OutboxError.ts'
import type { OutboxFault } from '../OutboxError.ts'

/** Loads lmdb when an outbox is opened, and not before: it is an optional dependency, and most programs have no use for it. */
export const loadLmdb = (path: string): Either<OutboxFault, typeof Lmdb> => {
  try {
    // `require` has no types; this is the package that they describe.
    return right(createRequire(import.meta.url)('lmdb') as typeof Lmdb)
  } catch (error) {
    return left(
      outboxFault(
        'missing',
        path,
        `an outbox on a disk needs the package lmdb, which could not be loaded: run "npm install lmdb" (${messageOf(error)})`,
      ),
    )
  }
}
