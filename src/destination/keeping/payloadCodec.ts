import type { Event } from '../../event/Event.ts'
import type { Payload } from '../../event/Payload.ts'
import type { ItemCodec } from '../../outbox/lmdb/LmdbContract.ts'
import { fromText, toText } from './EventRecord.ts'

/** How encoded events are kept on a disk. */
export const payloadCodec: ItemCodec<Payload<Event>> = {
  toText: (payload) => {
    // A destination accepts one event at a time, and puts nothing else into its outbox.
    if (payload.members !== undefined) throw new TypeError('a batch is no item of a destination')
    return toText(payload)
  },
  fromText,
  kind: 'events',
  sizeOf: ({ byteLength }) => byteLength,
}
