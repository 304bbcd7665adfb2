import type { ItemCodec } from '../LmdbContract.ts'
import type { Weight } from '../records/StoredTotals.ts'

/** What an item counts for, as its codec says. */
export const weightOf = <A>({ countOf, sizeOf }: ItemCodec<A>, item: A): Weight => ({
  count: countOf === undefined ? 1 : countOf(item),
  size: sizeOf(item),
})
