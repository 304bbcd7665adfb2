import { commits } from './commits.ts'
import { appending } from './entering/appending.ts'
import { drafts } from './entering/Drafts.ts'
import type { Drafts } from './entering/Drafts.ts'
import { REMEMBERED } from './entering/justAppended.ts'
import type { Remembered } from './entering/justAppended.ts'
import { dueEntries } from './dueEntries.ts'
import type { Found, Place } from './dueEntries.ts'
import { triedFromText } from './records/Known.ts'
import type { ItemCodec, OldLmdbOutbox } from './LmdbContract.ts'
import type { Mapping } from './mapping.ts'
import { room } from './room.ts'
import { concluding } from './leaving/concluding.ts'
import { discarding } from './leaving/discarding.ts'
import { puttingAside } from './leaving/puttingAside.ts'
import { storedLetters } from './leaving/storedLetters.ts'
import { countOf } from './records/CodecAnswers.ts'
import { countedBy } from './records/countedBy.ts'
import { decodeRecord } from './records/StoredRecord.ts'
import { storeTime } from './records/storeTime.ts'

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
  /** How much of what was appended is remembered until it is handed out; default `REMEMBERED`. */
  readonly remembered?: Remembered
}

/** An outbox over an open store, for those who also keep the parts of items. */
export interface StoredOutbox<A> extends OldLmdbOutbox<A> {
  readonly drafts: Drafts<A>
}

/** The outbox over an open store. */
export const storedOutbox = <A>(options: StoredOutboxOptions<A>): StoredOutbox<A> => {
  const { mapping, codec, maxCount, maxBytes, keepDead, now, release, remembered = REMEMBERED } = options
  const { store } = mapping
  const work = commits(mapping, options.path)
  const { totals } = work
  const space = room({ maxCount, maxBytes, totals })
  const time = storeTime(totals().latest, now)
  let closing: Promise<void> | undefined

  const letters = storedLetters({ mapping, commits: work, codec, keepDead, room: space, now })
  const entrance = appending({
    mapping,
    commits: work,
    codec,
    room: space,
    bounds: { maxCount, maxBytes },
    letters,
    appended: (...what) => {
      due.appended(...what)
    },
  })

  const read = (number: number, bytes: Buffer): Found<A> | undefined => {
    const record = decodeRecord(bytes)
    if (record === undefined) return undefined
    try {
      const { firstAttemptAt, progress } = triedFromText(record.about)
      const item = codec.fromText(record.text)
      const { size } = record
      return {
        entry: {
          id: String(number),
          item,
          firstAttemptAt: firstAttemptAt === undefined ? undefined : time.byClock(firstAttemptAt),
          progress,
        },
        count: countOf(codec, item),
        size,
      }
    } catch {
      return undefined
    }
  }

  const countIn = countedBy(codec)
  const aside = puttingAside(mapping, work)

  const recordAt = ({ parked: key, number }: Place): Buffer | undefined =>
    key === undefined ? store.fresh.get(number) : store.parked.get(key)

  const remove = ({ parked: key, number }: Place): void => {
    if (key === undefined) store.fresh.removeSync(number)
    else store.parked.removeSync(key)
  }

  /** One bad record costs one record. */
  const putAside = (place: Place): void => {
    aside.put({
      find: () => recordAt(place),
      remove: () => {
        remove(place)
      },
      countIn,
      gone: () => {
        due.left(place)
      },
    })
  }

  const due = dueEntries<A>({ store, newest: () => totals().items, read, bad: putAside, remembered })

  const dueByClock = (due: number | undefined): number | undefined =>
    due === undefined ? undefined : time.byClock(due)
  const nextDue = (): number | undefined => dueByClock(due.nextDue())
  const nextParkedDue = (): number | undefined => dueByClock(due.parked.nextDue())

  /** As it was when the store could last be read: until it can be again, nothing is written that would change it. */
  let lastDue: number | undefined
  let lastParkedDue: number | undefined
  mapping.beforeRenewal(() => {
    lastDue = nextDue()
    lastParkedDue = nextParkedDue()
  })

  return {
    durable: true,
    ...entrance,
    drafts: drafts({ mapping, commits: work, codec, aside, letters, time, came: due.came }),
    take: (at, limit, mostParked) =>
      closing === undefined ? mapping.read(() => due.take(time.inStore(at), limit, mostParked)) : [],
    parked: {
      take: (at, limit) =>
        closing === undefined ? mapping.read(() => due.parked.take(time.inStore(at), limit)) : [],
      nextDue: () => {
        if (closing !== undefined) return undefined
        return mapping.isReadable() ? nextParkedDue() : lastParkedDue
      },
    },
    nextDue: () => {
      if (closing !== undefined) return undefined
      return mapping.isReadable() ? nextDue() : lastDue
    },
    ...concluding({ mapping, commits: work, letters, due, time, recordAt, remove }),
    abandon: () => [],
    discardUnreadable: discarding({ mapping, commits: work, codec }),
    dead: { list: letters.list, redrive: letters.redrive, purge: letters.purge },
    stats: () => {
      const { waiting, unreadable, bytes, dead, quarantined, evictedDeadLetters } = totals()
      return {
        waiting,
        unreadable: unreadable + aside.going(),
        bytes,
        dead,
        maxCount,
        maxBytes,
        quarantined,
        evictedDeadLetters,
      }
    },
    close: () =>
      (closing ??= work.end().then(async () => {
        await mapping.close()
        release()
      })),
  }
}
