/**
 * Parts of an item that is not whole yet. Whoever makes items up out of parts, as a batching client does, keeps the parts meanwhile, and in
 * one transaction puts the item in their place.
 *
 * @module
 */
import type { Outcome } from '../../../core/outcome.ts'
import type { Entry } from '../../oldOutbox.ts'
import { committed } from '../committed.ts'
import type { Commits } from '../commits.ts'
import type { DueEntries } from '../dueEntries.ts'
import type { StoredLetters } from '../leaving/storedLetters.ts'
import type { ItemCodec } from '../LmdbContract.ts'
import type { Mapping } from '../mapping.ts'
import type { PuttingAside } from '../leaving/puttingAside.ts'
import { weightOf } from '../records/CodecAnswers.ts'
import { partCountIn } from '../records/partCountIn.ts'
import { triedToText } from '../records/Known.ts'
import { parkedKey } from '../records/parkedKey.ts'
import type { StoreTime } from '../records/storeTime.ts'
import { decodeRecord, encodeRecord } from '../records/StoredRecord.ts'
import { enters, leaves } from '../records/StoredTotals.ts'
import type { Draft as Counters, Weight } from '../records/StoredTotals.ts'
import { NEWEST } from './appending.ts'

/** A part. */
export interface Draft extends Weight {
  /** Its place; never given twice while a store is open. */
  readonly number: number
  readonly text: string
}

/** An item that was handed out before it came to the disk. */
export interface Worked<A> {
  readonly entry: Entry<A>
  /** When it is due again; undefined: it is out, and nobody else is handed it. A crash makes it due at once. */
  readonly due: number | undefined
  /** Is told its id in the store as soon as it has been synced, before anybody can be handed it. */
  readonly stored: (id: string) => void
}

/** What is to change, in one transaction. */
export interface Change<A> {
  /** Begin to wait, in this order. */
  readonly items: ReadonlyArray<A>
  readonly worked: ReadonlyArray<Worked<A>>
  readonly drafts: ReadonlyArray<Draft>
  /** Are no longer needed. One that is not there is passed over. */
  readonly struck: ReadonlyArray<Draft>
}

/** What an item that ended elsewhere leaves in a store, or leaves to it. */
export interface Remains<A> {
  readonly struck: ReadonlyArray<Draft>
  /** Of one that died. */
  readonly letter: { readonly entry: Entry<A>; readonly outcome: Outcome<A> } | undefined
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
  /** Strikes and lays, all in one transaction. What has no letter makes the store no larger, so a disk that is nearly full takes it. */
  readonly bury: (remains: ReadonlyArray<Remains<A>>) => Promise<void>
}

export interface DraftsOptions<A> {
  readonly mapping: Pick<Mapping, 'store'>
  readonly commits: Commits
  readonly codec: ItemCodec<A>
  readonly aside: PuttingAside
  readonly letters: Pick<StoredLetters<A>, 'lay'>
  readonly time: StoreTime
  /** Is told where an item lies that was handed out before it came. */
  readonly came: DueEntries<A>['came']
}

/** What its bytes say; undefined if nothing. How many it counts for is all that is known of it beside its text. */
const draftIn = (number: number, bytes: Buffer): Draft | undefined => {
  const record = decodeRecord(bytes)
  return record && { number, text: record.text, count: Number(record.about), size: record.size }
}

/** The drafts of an open store. */
export const drafts = <A>(options: DraftsOptions<A>): Drafts<A> => {
  const { mapping, commits, codec, aside, letters, time, came } = options
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

  const strike = (struck: ReadonlyArray<Draft>, counters: Counters): void => {
    for (const draft of struck) if (store.drafts.removeSync(draft.number)) leaves(counters, draft)
  }

  /** Answers what is to be told when it has been synced. */
  const bring = ({ entry, due, stored }: Worked<A>, counters: Counters): (() => void) => {
    const { item } = entry
    const weight = weightOf(codec, item)
    const number = ++counters.items
    const parked = parkedKey(due === undefined ? 0 : time.inStore(due), number)
    const about = triedToText(time.stored(entry))
    counters.latest = Math.max(counters.latest, time.now())
    store.parked.putSync(parked, encodeRecord({ size: weight.size, about, text: codec.toText(item) }))
    enters(counters, weight)
    return () => {
      stored(String(number))
      came({ ...weight, parked, number, leaving: false }, due === undefined)
    }
  }

  const apply = (change: Change<A>, counters: Counters): ReadonlyArray<() => void> => {
    strike(change.struck, counters)
    const brought = change.worked.map((each) => bring(each, counters))
    for (const item of change.items) {
      const weight = weightOf(codec, item)
      const record = encodeRecord({ size: weight.size, about: '', text: codec.toText(item) })
      store.fresh.putSync(++counters.items, record, NEWEST)
      enters(counters, weight)
    }
    for (const draft of change.drafts) {
      const { number, text, count, size } = draft
      store.drafts.putSync(number, encodeRecord({ size, about: String(count), text }))
      enters(counters, draft)
    }
    return brought
  }

  const lay = ({ entry, outcome }: NonNullable<Remains<A>['letter']>, counters: Counters): void => {
    const { item } = entry
    const record = encodeRecord({ size: codec.sizeOf(item), about: '', text: codec.toText(item) })
    letters.lay({ ...entry, id: String(++counters.items) }, outcome, record, counters)
  }

  return {
    left,
    newest,
    write: async (change) => {
      await committed(commits, {
        grows: true,
        apply: (counters) => apply(change(), counters),
        settle: (told) => {
          for (const onEvent of told) onEvent()
        },
      })
    },
    bury: (remains) =>
      committed(commits, {
        grows: remains.some(({ letter }) => letter !== undefined),
        apply: (counters) => {
          for (const { struck, letter } of remains) {
            strike(struck, counters)
            if (letter !== undefined) lay(letter, counters)
          }
        },
      }),
    putAside: (some) => {
      for (const { number } of some) putAside(number)
    },
  }
}
