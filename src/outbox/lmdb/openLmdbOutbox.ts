import * as E from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import { fromOld, later } from '../oldOutbox.ts'
import type { StoredOutbox } from './storedOutbox.ts'
import type { LmdbOutbox, LmdbOutboxOptions } from './LmdbContract.ts'
import { openStoredOutbox } from './openStoredOutbox.ts'
import type { OutboxFault } from './OutboxError.ts'

const asNew = <A>(old: StoredOutbox<A>): LmdbOutbox<A> => ({
  ...fromOld(old),
  enqueue: (items, options) =>
    later(
      items.map((item) => old.append(item, options)),
      (all) => all,
    ),
  addDeadLetter: old.bury,
  stats: old.stats,
  bookmark: old.bookmark,
  bookmarks: old.bookmarks,
  remember: old.remember,
  forget: old.forget,
  discardUnreadable: old.discardUnreadable,
})

/**
 * Opens an outbox on a disk, or says why it cannot be opened. As `lmdbOutbox`, with the failure as a value.
 *
 * @throws RangeError when `maxCount` or `maxBytes` is not a whole number from 1, or `keepDead` one from 0.
 *
 * @example
 * import { openLmdbOutbox } from 'headrace/outbox/lmdb'
 *
 * const codec = { toText: JSON.stringify, fromText: JSON.parse, sizeOf: (item: string) => item.length }
 * const opened = openLmdbOutbox<string>({ path: '/dev/null/outbox', codec })
 * console.log(opened._tag === 'Left' ? opened.left.reason : 'open') // => noAccess
 */
export const openLmdbOutbox = <A>(options: LmdbOutboxOptions<A>): Either<OutboxFault, LmdbOutbox<A>> =>
  pipe(openStoredOutbox(options), E.map(asNew))
