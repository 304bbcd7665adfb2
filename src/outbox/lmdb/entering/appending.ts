import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Awaitable } from '../../../core/awaitable.ts'
import type { Outcome } from '../../../core/outcome.ts'
import { full } from '../../../core/refusal.ts'
import type { Full } from '../../../core/refusal.ts'
import type { Entry } from '../../oldOutbox.ts'
import { committed } from '../committed.ts'
import type { Commits, Write, WriteKind } from '../commits.ts'
import type { DueEntries } from '../dueEntries.ts'
import type { Bookmark, ItemCodec, OldLmdbOutbox } from '../LmdbContract.ts'
import type { Mapping } from '../mapping.ts'
import { sizeOf, textOf, weightOf } from '../records/CodecAnswers.ts'
import { bookmarkKey, decodeBookmark, encodeBookmark } from '../records/StoredBookmark.ts'
import type { StoredBookmark } from '../records/StoredBookmark.ts'
import { encodeRecord } from '../records/StoredRecord.ts'
import { enters } from '../records/StoredTotals.ts'
import type { Weight } from '../records/StoredTotals.ts'
import type { Room } from '../room.ts'
import type { StoredLetters } from '../leaving/storedLetters.ts'

/** What taking items into a store works with. */
export interface AppendingOptions<A> {
  readonly mapping: Pick<Mapping, 'store'>
  readonly commits: Commits
  readonly codec: ItemCodec<A>
  readonly room: Room
  readonly bounds: { readonly maxCount: number; readonly maxBytes: number }
  readonly letters: Pick<StoredLetters<A>, 'lay'>
  /** Is told of each that was synced. */
  readonly appended: DueEntries<A>['appended']
}

/** What of an outbox lets items in. */
export type Appending<A> = Pick<
  OldLmdbOutbox<A>,
  'append' | 'bury' | 'bookmark' | 'bookmarks' | 'remember' | 'forget'
>

/** An item on its way into the store. */
interface Entering<A> extends Weight, Write<Entering<A>> {
  readonly item: A
  readonly text: string
  readonly bookmark: StoredBookmark | undefined
  /** What it was given, and how long its record is: since it was written last. */
  number: number
  bytes: number
  readonly resolve: (entered: Either<Full, Entry<A>>) => void
  readonly reject: (error: Error) => void
}

/** It goes behind all that are there: lmdb need not look where, and fills its pages. */
export const NEWEST = { append: true } as const

/** The way into a store, one item at a time, each with its bookmark. */
export const appending = <A>(options: AppendingOptions<A>): Appending<A> => {
  const { mapping, commits, codec, room, bounds, letters, appended } = options
  const { store } = mapping
  const bookmarks = new Map<string, string>()
  for (const mark of store.marks.getRange()) {
    const { name, value } = decodeBookmark(mark.key, mark.value)
    bookmarks.set(name, value)
  }

  const entering: WriteKind<Entering<A>> = {
    grows: true,
    apply: (write, draft) => {
      const { size, text, bookmark } = write
      const record = encodeRecord({ size, about: '', text })
      write.number = ++draft.items
      write.bytes = record.length
      store.fresh.putSync(write.number, record, NEWEST)
      if (bookmark !== undefined) store.marks.putSync(bookmark.key, bookmark.text)
      enters(draft, write)
    },
    done: (write) => {
      const { item, number, bookmark } = write
      room.letGo(write)
      if (bookmark !== undefined) bookmarks.set(bookmark.name, bookmark.value)
      const entry = { id: String(number), item, firstAttemptAt: undefined, progress: undefined }
      appended(number, entry, write, write.bytes)
      write.resolve(right(entry))
    },
    fail: (write, error) => {
      room.letGo(write)
      write.reject(error)
    },
  }

  const enter = (
    item: A,
    { count, size }: Weight,
    bookmark: StoredBookmark | undefined,
  ): Promise<Either<Full, Entry<A>>> => {
    const text = textOf(codec, item)
    return new Promise((resolve, reject) => {
      const write = {
        kind: entering,
        item,
        text,
        count,
        size,
        bookmark,
        number: 0,
        bytes: 0,
        resolve,
        reject,
      }
      room.hold(write)
      commits.put(write)
    })
  }

  const append = (item: A, bookmark: Bookmark | undefined): Awaitable<Either<Full, Entry<A>>> => {
    try {
      const weight = weightOf(codec, item)
      const bound = room.boundFor(weight)
      if (bound === undefined) return enter(item, weight, bookmark && encodeBookmark(bookmark))
      return left(full(item, bound, bound === 'count' ? bounds.maxCount : bounds.maxBytes))
    } catch (error) {
      // What the codec throws is this item's affair.
      return Promise.reject(error instanceof Error ? error : new Error('the codec failed'))
    }
  }

  return {
    append: (item, { bookmark } = {}) => append(item, bookmark),
    bury: async (item: A, outcome: Outcome<A>) => {
      const size = sizeOf(codec, item)
      const text = textOf(codec, item)
      return committed(commits, {
        grows: true,
        apply: (draft) => {
          const record = encodeRecord({ size, about: '', text })
          const id = String(++draft.items)
          letters.lay({ id, item, firstAttemptAt: undefined, progress: undefined }, outcome, record, draft)
        },
      })
    },
    bookmark: (name) => bookmarks.get(name),
    bookmarks: () => new Map(bookmarks),
    remember: async (bookmark) => {
      const { key, text } = encodeBookmark(bookmark)
      await committed(commits, { grows: true, apply: () => store.marks.putSync(key, text) })
      bookmarks.set(bookmark.name, bookmark.value)
    },
    forget: async (name) => {
      const key = bookmarkKey(name)
      await committed(commits, { grows: false, apply: () => store.marks.removeSync(key) })
      bookmarks.delete(name)
    },
  }
}
