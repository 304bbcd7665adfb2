/**
 * Parts of an item that is not whole yet. Whoever makes items up out of parts, as a batching client does, keeps the parts meanwhile, and in
 * one transaction puts the item in their place.
 *
 * @module
 */
import { committed } from '../committed.ts'
import type { Commits } from '../commits.ts'
import type { ItemCodec } from '../LmdbContract.ts'
import type { Mapping } from '../mapping.ts'
import type { PuttingAside } from '../leaving/puttingAside.ts'
import { partCountIn } from '../records/partCountIn.ts'
import { decodeRecord, encodeRecord } from '../records/StoredRecord.ts'
import { enters, leaves } from '../records/StoredTotals.ts'
import type { Draft as Counters, Weight } from '../records/StoredTotals.ts'
import { NEWEST } from './appending.ts'
import { weightOf } from './weightOf.ts'

/** A part. */
export interface Draft extends Weight {
  /** Its place; never given twice while a store is open. */
  readonly number: number
  readonly text: string
}

/** What is to change, in one transaction. */
export interface Change<A> {
  /** Begin to wait, in this order. */
  readonly items: ReadonlyArray<A>
  readonly drafts: ReadonlyArray<Draft>
  /** Are no longer needed. One that is not there is passed over. */
  readonly struck: ReadonlyArray<Draft>
}

/** The drafts of a store. */
export interface Drafts<A> {
  /** Those that an earlier life left, in the order of their numbers. */
  readonly left: ReadonlyArray<Draft>
  /** The largest number that an earlier life left, also of one that cannot be read; 0 if it left none. */
  readonly newest: number
  /**
   * Changes the store. `change` is asked as late as can be, and again if a transaction failed: what it answered last is what was synced when this
   * is fulfilled. Heeds no bound.
   */
  readonly write: (change: () => Change<A>) => Promise<void>
  /** Puts aside those of `left` that say nothing to whoever wrote them. */
  readonly putAside: (drafts: ReadonlyArray<Draft>) => void
}

export interface DraftsOptions<A> {
  readonly mapping: Pick<Mapping, 'store'>
  readonly commits: Commits
  readonly codec: ItemCodec<A>
  readonly aside: PuttingAside
}

/** What its bytes say; undefined if nothing. How many it counts for is all that is known of it beside its text. */
const draftIn = (number: number, bytes: Buffer): Draft | undefined => {
  const record = decodeRecord(bytes)
  return record && { number, text: record.text, count: Number(record.about), size: record.size }
}

/** The drafts of an open store. */
export const drafts = <A>({ mapping, commits, codec, aside }: DraftsOptions<A>): Drafts<A> => {
  const { store } = mapping

  const left: Draft[] = []
  const unreadable: number[] = []
  let newest = 0
  for (const { key, value } of store.drafts.getRange()) {
    newest = key
    const draft = draftIn(key, value)
    if (draft === undefined) unreadable.push(key)
    else left.push(draft)
  }

  const putAside = (key: number): void => {
    aside.put({
      find: () => store.drafts.getBinary(key),
      remove: () => {
        store.drafts.removeSync(key)
      },
      countIn: partCountIn,
    })
  }
  unreadable.forEach(putAside)

  const apply = ({ items, drafts: added, struck }: Change<A>, counters: Counters): void => {
    for (const draft of struck) if (store.drafts.removeSync(draft.number)) leaves(counters, draft)
    for (const item of items) {
      const weight = weightOf(codec, item)
      const record = encodeRecord({ size: weight.size, about: '', text: codec.toText(item) })
      store.fresh.putSync(++counters.items, record, NEWEST)
      enters(counters, weight)
    }
    for (const draft of added) {
      const { number, text, count, size } = draft
      store.drafts.putSync(number, encodeRecord({ size, about: String(count), text }))
      enters(counters, draft)
    }
  }

  return {
    left,
    newest,
    write: (change) =>
      committed(commits, {
        grows: true,
        apply: (counters) => {
          apply(change(), counters)
        },
      }),
    putAside: (some) => {
      for (const { number } of some) putAside(number)
    },
  }
}
