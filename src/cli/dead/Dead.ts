/**
 * What died, as it is shown: an event of a destination, or a message of a client.
 *
 * @module
 */
import { batchFromText } from '../../client/keeping/BatchRecord.ts'
import { batchCodec } from '../../client/keeping/batchCodec.ts'
import { fromText } from '../../destination/keeping/EventRecord.ts'
import { payloadCodec } from '../../destination/keeping/payloadCodec.ts'
import { callOf } from '../../event/Call.ts'
import type { Event } from '../../event/Event.ts'
import type { ItemCodec } from '../../outbox/lmdb/LmdbContract.ts'

/** Something that died. */
export interface Dead {
  /** The message id. */
  readonly id: string
  readonly type: Event['type']
  /** The event as somebody would send it again. */
  readonly call: () => object
  /** As it lies in the store. */
  readonly record: string
}

/** Records are shown and moved as they are, and never written anew. They count for what they count for where they lie. */
const codecOf = (
  kind: string | undefined,
  read: (record: string) => Omit<Dead, 'record'>,
  countIn: (record: string) => number,
): ItemCodec<Dead> => ({
  ...(kind === undefined ? {} : { kind }),
  fromText: (record) => ({ ...read(record), record }),
  toText: ({ record }) => record,
  sizeOf: ({ record }) => Buffer.byteLength(record),
  countOf: ({ record }) => countIn(record),
})

/** In the folder of a destination. */
const events = codecOf(
  payloadCodec.kind,
  (record) => {
    const {
      id,
      items: [event],
    } = fromText(record)
    return { id, type: event.type, call: () => callOf(event) }
  },
  () => 1,
)

/** In the folder of a client: each letter is a batch of one message. What waits there are whole batches. */
const messages = codecOf(
  batchCodec.kind,
  (record) => {
    const [first] = batchFromText(record).members
    if (first === undefined) throw new Error('it holds no message')
    // Its text was written from an object.
    return { id: first.id, type: first.items[0], call: () => JSON.parse(first.text) as object }
  },
  (record) => batchFromText(record).members.length,
)

/** What lies in a folder: events of a destination, or messages of a client. */
export type Kind = 'events' | 'messages'

/** All that may lie in a folder that the command knows. */
export const codecs: ReadonlyArray<readonly [Kind, ItemCodec<Dead>]> = [
  ['events', events],
  ['messages', messages],
]
