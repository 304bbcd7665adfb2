import { committed } from '../committed.ts'
import type { Commits } from '../commits.ts'
import type { ItemCodec } from '../LmdbContract.ts'
import type { Mapping } from '../mapping.ts'
import { countedBy } from '../records/countedBy.ts'
import { partCountIn } from '../records/partCountIn.ts'
import { sizeIn } from '../records/StoredRecord.ts'

/** What discarding works with. */
export interface DiscardingOptions<A> {
  readonly mapping: Pick<Mapping, 'store'>
  readonly commits: Commits
  readonly codec: ItemCodec<A>
}

/**
 * Forgets the records that could not be read. What they counted for is not known for certain, so what waits is counted anew: that takes as
 * long as reading all of it, and nothing else is written meanwhile.
 */
export const discarding = <A>({ mapping, commits, codec }: DiscardingOptions<A>): (() => Promise<number>) => {
  const { store } = mapping

  const countIn = countedBy(codec)

  return () =>
    committed(commits, {
      grows: false,
      apply: (draft) => {
        const keys = [...store.aside.getKeys()]
        for (const key of keys) store.aside.removeSync(key)
        draft.quarantined = 0
        draft.unreadable = 0
        draft.waiting = 0
        draft.bytes = 0
        const weigh = (bytes: Buffer, countOf: (bytes: Buffer) => number): void => {
          draft.bytes += sizeIn(bytes)
          draft.waiting += countOf(bytes)
        }
        for (const { value } of store.fresh.getRange()) weigh(value, countIn)
        for (const { value } of store.parked.getRange()) weigh(value, countIn)
        for (const { value } of store.drafts.getRange()) weigh(value, partCountIn)
        return keys.length
      },
    })
}
