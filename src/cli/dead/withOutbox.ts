import { right } from 'fp-ts/lib/Either.js'
import type { LmdbOutbox } from '../../outbox/lmdb/LmdbContract.ts'
import { openLmdbOutbox } from '../../outbox/lmdb/openLmdbOutbox.ts'
import { wrong } from '../values/Checked.ts'
import type { Checked } from '../values/Checked.ts'
import { codecs } from './Dead.ts'
import type { Dead, Kind } from './Dead.ts'

/** An outbox as it lies on the disk. Nothing is sent from here. */
export type StoredDead = LmdbOutbox<Dead>

const open = (path: string): Checked<readonly [StoredDead, Kind]> => {
  let why = 'there is nothing that can be read'
  for (const [kind, codec] of codecs) {
    const opened = openLmdbOutbox({ path, codec })
    if (opened._tag === 'Right') return right([opened.right, kind])
    why = opened.left.message
    if (opened.left.reason !== 'otherKind') break
  }
  return wrong(`--outbox: ${why}`)
}

/** Opens the outbox in a folder for as long as `use` takes. */
export const withOutbox = async <A>(
  path: string,
  use: (outbox: StoredDead, kind: Kind) => Promise<A>,
): Promise<Checked<A>> => {
  const opened = open(path)
  if (opened._tag === 'Left') return opened
  const [outbox, kind] = opened.right
  try {
    return right(await use(outbox, kind))
  } finally {
    await outbox.close()
  }
}
