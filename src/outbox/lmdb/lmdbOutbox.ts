import { isLeft } from 'fp-ts/lib/Either.js'
import type { LmdbOutbox, LmdbOutboxOptions } from './LmdbContract.ts'
import { openLmdbOutbox } from './openLmdbOutbox.ts'
import { OutboxError } from './OutboxError.ts'

/**
 * An outbox in a folder: what it accepted survives a crash of the process and of the machine, for it answers an append only when that
 * has been synced to the disk. Many appends at a time share one sync. Millions may wait: what waits is on the disk and not in memory,
 * in the order in which it is handed out, and opening counts nothing. One process has it open at a time; what a dead process left open
 * is taken over. Closing deletes nothing.
 *
 * Needs the package lmdb, which is an optional dependency.
 *
 * @throws OutboxError when it cannot be opened: `reason` says why, the message says the way out.
 * @throws RangeError when `maxCount` or `maxBytes` is not a whole number from 1, or `keepDead` one from 0.
 *
 * @example
 * import { lmdbOutbox } from 'headrace/outbox/lmdb'
 * import { mkdtempSync, rmSync } from 'node:fs'
 * import { tmpdir } from 'node:os'
 * import { join } from 'node:path'
 *
 * const path = mkdtempSync(join(tmpdir(), 'outbox-'))
 * const codec = { toText: JSON.stringify, fromText: JSON.parse, sizeOf: (item: string) => item.length }
 *
 * const outbox = lmdbOutbox<string>({ path, codec })
 * await outbox.enqueue(['a'])
 * await outbox.close()
 *
 * const again = lmdbOutbox<string>({ path, codec })
 * console.log(await again.lease(0, { count: 10, retries: 0 }))
 * // => [ { id: '1', item: 'a', firstAttemptAt: undefined, progress: undefined } ]
 * await again.close()
 * rmSync(path, { recursive: true })
 */
export const lmdbOutbox = <A>(options: LmdbOutboxOptions<A>): LmdbOutbox<A> => {
  const opened = openLmdbOutbox(options)
  if (isLeft(opened)) throw new OutboxError(opened.left)
  return opened.right
}
