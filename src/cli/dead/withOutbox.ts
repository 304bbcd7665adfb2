import type { Event } from '../../event/Event.ts'
import type { Payload } from '../../event/Payload.ts'
import { payloadCodec } from '../../destination/keeping/payloadCodec.ts'
import type { LmdbOutbox } from '../../outbox/lmdb/LmdbContract.ts'
import { openLmdbOutbox } from '../../outbox/lmdb/openLmdbOutbox.ts'
import { wrong } from '../values/Checked.ts'
import type { Checked } from '../values/Checked.ts'

/** The outbox of a destination, as it lies on the disk. Nothing is sent from here, so nothing is signed. */
export type StoredEvents = LmdbOutbox<Payload<Event>>

/** Opens the outbox in a folder for as long as `use` takes. */
export const withOutbox = async <A>(
  path: string,
  use: (outbox: StoredEvents) => Promise<A>,
): Promise<Checked<A>> => {
  const opened = openLmdbOutbox({ path, codec: payloadCodec(undefined) })
  if (opened._tag === 'Left') return wrong(`--outbox: ${opened.left.message}`)
  try {
    return { _tag: 'Right', right: await use(opened.right) }
  } finally {
    await opened.right.close()
  }
}
