import type { ItemCodec } from '../LmdbContract.ts'
import { countOf } from './CodecAnswers.ts'
import { decodeLoosely } from './StoredRecord.ts'

/** What the item in a record counts for in the bounds, as far as its bytes tell; 1 if they tell nothing sensible. */
export const countedBy =
  <A>(codec: ItemCodec<A>): ((bytes: Buffer) => number) =>
  (bytes) => {
    if (codec.countOf === undefined) return 1
    const record = decodeLoosely(bytes)
    try {
      return record === undefined ? 1 : countOf(codec, codec.fromText(record.text))
    } catch {
      return 1
    }
  }
