import { decodeLoosely } from './StoredRecord.ts'

/** What the part of an item in a record counts for, as far as its bytes tell; 1 if they tell nothing sensible. */
export const partCountIn = (bytes: Buffer): number => {
  const count = Number(decodeLoosely(bytes)?.about)
  return Number.isSafeInteger(count) && count > 0 ? count : 1
}
