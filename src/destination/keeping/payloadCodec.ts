import type { Event } from '../../event/Event.ts'
import type { Payload, Signer } from '../../event/Payload.ts'
import type { ItemCodec } from '../../outbox/lmdb/LmdbContract.ts'
import { fromText, toText } from './EventRecord.ts'

/**
 * How encoded events are kept on a disk. What is signed when it is sent gets its signer back when it is read: the secret may have been
 * changed meanwhile.
 */
export const payloadCodec = (signer: Signer | undefined): ItemCodec<Payload<Event>> => ({
  toText: (payload) => {
    // A destination accepts one event at a time, and puts nothing else into its outbox.
    if (payload.members !== undefined) throw new TypeError('a batch is no item of a destination')
    return toText(payload)
  },
  fromText: (text) => (signer === undefined ? fromText(text) : { ...fromText(text), signer }),
  kind: 'events',
  sizeOf: ({ byteLength }) => byteLength,
})
