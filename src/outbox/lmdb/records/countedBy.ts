import type { ItemCodec } from '../LmdbContract.ts'
import { decodeRecord } from './StoredRecord.ts'

/** What the item in a record counts for in the bounds; 1 if it cannot be read. */
export const countedBy =
  <A>({ countOf, fromText }: ItemCodec<A>): ((bytes: Buffer) => number) =>
  (bytes) => {
    if (countOf === undefined) return 1
    const record = decodeRecord(bytes)
    try {
      return record === undefined ? 1 : countOf(fromText(record.text))
    } catch {
      return 1
    }
  }
