import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { isDead } from '../../outcome/Outcome.ts'
import type { Outcome } from '../../outcome/Outcome.ts'
import { full } from '../../outcome/Refusal.ts'
import type { Full } from '../../outcome/Refusal.ts'
import type { Entry } from '../../sink/Outbox.ts'
import type { Awaitable } from '../../internal/Awaitable.ts'
import { commits } from './commits.ts'
import { committed } from './committed.ts'
import { dueEntries } from './dueEntries.ts'
import type { Found, Place } from './dueEntries.ts'
import { diedToText, triedFromText, triedToText } from './records/Known.ts'
import type { Bookmark, ItemCodec, LmdbOutbox } from './LmdbContract.ts'
import type { Mapping } from './mapping.ts'
import type { ParkedKey } from './Store.ts'
import { room } from './room.ts'
import { storedLetters } from './storedLetters.ts'
import { decodeRecord, encodeRecord, sizeIn, withAbout } from './records/StoredRecord.ts'
import { enters, leaves } from './records/StoredTotals.ts'
import type { Draft } from './records/StoredTotals.ts'

/** What an outbox over an open store works with. */
export interface StoredOutboxOptions<A> {
  readonly path: string
  readonly mapping: Mapping
  readonly codec: ItemCodec<A>
  readonly maxCount: number
  readonly maxBytes: number
  readonly keepDead: number
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Gives the folder back. */
  readonly release: () => void
}

const done: Promise<void> = Promise.resolve()

/** It goes behind all that are there: lmdb need not look where, and fills its pages. */
const NEWEST = { append: true } as const

/** A moment that has an order: all numbers have one but NaN, and a key holds no infinity. */
const orderly = (due: number): number =>
  Number.isNaN(due) ? 0 : Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, due))

/** The outbox over an open store. */
export const storedOutbox = <A>(options: StoredOutboxOptions<A>): LmdbOutbox<A> => {
  const { mapping, codec, maxCount, maxBytes, keepDead, now, release } = options
  const { store } = mapping
  const work = commits(mapping, options.path)
  const { totals } = work
  const { boundFor, hold, letGo } = room({ maxCount, maxBytes, totals })
  const bookmarks = new Map([...store.marks.getRange()].map(({ key, value }) => [key, value]))
  let closing: Promise<void> | undefined

  const letters = storedLetters({
    mapping,
    commits: work,
    codec,
    keepDead,
    boundFor,
    hold,
    letGo,
  })

  const read = (number: number, bytes: Buffer): Found<A> | undefined => {
    const record = decodeRecord(bytes)
    if (record === undefined) return undefined
    try {
      const { since, progress } = triedFromText(record.about)
      return {
        entry: { id: String(number), item: codec.fromText(record.text), since, progress },
        size: record.size,
      }
    } catch {
      return undefined
    }
  }

  const recordAt = ({ parked: key, number }: Place): Buffer | undefined =>
    key === undefined ? store.fresh.getBinary(number) : store.parked.getBinary(key)

  const remove = ({ parked: key, number }: Place): void => {
    if (key === undefined) store.fresh.removeSync(number)
    else store.parked.removeSync(key)
  }

  /** One bad record costs one record: it is put aside as it is, and waits no more. */
  const putAside = (place: Place): void => {
    const apply = (draft: Draft): void => {
      const record = recordAt(place)
      if (record === undefined) return
      store.aside.putSync(++draft.quarantined, record)
      remove(place)
      leaves(draft, sizeIn(record))
    }
    committed(work, { grows: false, apply }).then(
      () => due.left(String(place.number)),
      // It stays where it is, and is found again when the outbox is opened anew.
      () => undefined,
    )
  }

  const due = dueEntries<A>({ store, newest: () => totals().items, read, bad: putAside })

  /** As it was when the store could last be read: until it can be again, nothing is written that would change it. */
  let lastDue: number | undefined
  mapping.beforeRenewal(() => {
    lastDue = due.nextDue()
  })

  /** Works on a record that was handed out, once. `settle` goes on when it was synced. */
  const conclude = (
    id: string,
    apply: (place: Place, draft: Draft) => void,
    settle: () => void,
  ): Promise<void> => {
    const place = due.placeOf(id)
    // It was ended or put back already: a late word changes nothing.
    if (place === undefined) return done
    place.leaving = true
    return new Promise((resolve, reject) => {
      work.put({
        grows: false,
        apply: (draft) => {
          apply(place, draft)
        },
        done: () => {
          settle()
          resolve()
        },
        fail: (error) => {
          place.leaving = false
          reject(error)
        },
      })
    })
  }

  const enter = (item: A, size: number, bookmark: Bookmark | undefined): Promise<Either<Full, Entry<A>>> => {
    const record = encodeRecord({ size, about: '', text: codec.toText(item) })
    hold(size)
    return new Promise((resolve, reject) => {
      let number = 0
      work.put({
        grows: true,
        apply: (draft) => {
          number = ++draft.items
          store.fresh.putSync(number, record, NEWEST)
          if (bookmark !== undefined) store.marks.putSync(bookmark.name, bookmark.value)
          enters(draft, size)
        },
        done: () => {
          letGo(size)
          if (bookmark !== undefined) bookmarks.set(bookmark.name, bookmark.value)
          resolve(right({ id: String(number), item, since: undefined, progress: undefined }))
        },
        fail: (error) => {
          letGo(size)
          reject(error)
        },
      })
    })
  }

  const append = (item: A, bookmark: Bookmark | undefined): Awaitable<Either<Full, Entry<A>>> => {
    try {
      const size = codec.sizeOf(item)
      const bound = boundFor(size)
      return bound === undefined
        ? enter(item, size, bookmark)
        : left(full(item, bound, bound === 'count' ? maxCount : maxBytes))
    } catch (error) {
      // What the codec throws is this item's affair.
      return Promise.reject(error instanceof Error ? error : new Error('the codec failed'))
    }
  }

  const bury = async (item: A, outcome: Outcome<A>): Promise<void> => {
    const size = codec.sizeOf(item)
    const text = codec.toText(item)
    const apply = (draft: Draft): void => {
      const entry: Entry<A> = { id: String(++draft.items), item, since: undefined, progress: undefined }
      letters.lay(encodeRecord({ size, about: diedToText(entry, outcome, now()), text }), draft)
    }
    return committed(work, { grows: true, apply })
  }

  return {
    durable: true,
    append: (item, { bookmark } = {}) => append(item, bookmark),
    take: (at, limit, mostParked) =>
      closing === undefined ? mapping.read(() => due.take(at, limit, mostParked)) : [],
    nextDue: () => {
      if (closing !== undefined) return undefined
      return mapping.isReadable() ? due.nextDue() : lastDue
    },
    park: (entry, at) => {
      let key: ParkedKey
      const apply = (place: Place): void => {
        const record = recordAt(place)
        key = [orderly(at), place.number]
        if (record === undefined) return
        remove(place)
        store.parked.putSync(key, withAbout(record, triedToText(entry)))
      }
      return conclude(entry.id, apply, () => due.left(entry.id, key))
    },
    end: (entry, outcome) => {
      const apply = (place: Place, draft: Draft): void => {
        const record = isDead(outcome) ? recordAt(place) : undefined
        if (record !== undefined) letters.lay(withAbout(record, diedToText(entry, outcome, now())), draft)
        remove(place)
        leaves(draft, place.size)
      }
      return conclude(entry.id, apply, () => due.left(entry.id))
    },
    bury,
    abandon: () => [],
    dead: { list: letters.list, redrive: letters.redrive, purge: letters.purge },
    bookmark: (name) => bookmarks.get(name),
    forget: async (name) => {
      await committed(work, { grows: false, apply: () => store.marks.removeSync(name) })
      bookmarks.delete(name)
    },
    stats: () => {
      const { waiting, bytes, dead, quarantined, forgotten } = totals()
      return { waiting, bytes, dead, maxCount, maxBytes, quarantined, forgotten }
    },
    close: () =>
      (closing ??= work.end().then(async () => {
        await mapping.close()
        release()
      })),
  }
}
