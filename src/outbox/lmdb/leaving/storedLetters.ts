import type { Outcome } from '../../../core/outcome.ts'
import { DEAD_PAGE } from '../../oldOutbox.ts'
import type { DeadLetter, DeadLetters, Entry } from '../../oldOutbox.ts'
import type { Commits } from '../commits.ts'
import type { Room } from '../room.ts'
import { committed } from '../committed.ts'
import { countOf } from '../records/CodecAnswers.ts'
import { diedFromText, diedToText } from '../records/Known.ts'
import type { ItemCodec } from '../LmdbContract.ts'
import type { Mapping } from '../mapping.ts'
import { enters } from '../records/StoredTotals.ts'
import type { Draft, Weight } from '../records/StoredTotals.ts'
import { decodeRecord, encodeRecord, sizeIn, withAbout } from '../records/StoredRecord.ts'

/** What the dead letters of a store work with. */
export interface StoredLettersOptions<A> {
  readonly room: Room
  readonly mapping: Pick<Mapping, 'store' | 'read'>
  readonly commits: Commits
  readonly codec: ItemCodec<A>
  readonly keepDead: number
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** The dead letters of a store. */
export interface StoredLetters<A> extends DeadLetters<A> {
  /** Within a transaction: lays what died among them. `record`: how the item lies in the store. */
  readonly lay: (entry: Entry<A>, outcome: Outcome<A>, record: Buffer, draft: Draft) => void
}

/** So many letters are looked at in one go, and moved in one transaction. */
const GULP = 500

type Row = readonly [key: number, record: Buffer]

/** A letter that was found, and the record that says so. */
interface Filed<A> {
  readonly key: number
  readonly record: Buffer
  readonly letter: DeadLetter<A>
}

/** One that there is room for. */
interface Weighed<A> extends Filed<A> {
  readonly weight: Weight
}

/** Some letters, and where to go on if there are more. */
interface Page<A> {
  readonly found: ReadonlyArray<Filed<A>>
  readonly end: number | undefined
}

export const storedLetters = <A>(options: StoredLettersOptions<A>): StoredLetters<A> => {
  const { mapping, commits, codec, keepDead, room, now } = options
  const { store, read } = mapping

  const letterIn = (key: number, bytes: Buffer): DeadLetter<A> | undefined => {
    const record = decodeRecord(bytes)
    if (record === undefined) return undefined
    try {
      const item = codec.fromText(record.text)
      const { id, at, firstAttemptAt, progress, outcome } = diedFromText(record.about)
      // With its item an outcome is again the one that was taken apart.
      const whole = { ...outcome, item } as Outcome<A>
      return { id: String(key), at, entry: { id, item, firstAttemptAt, progress }, outcome: whole }
    } catch {
      return undefined
    }
  }

  /** A letter that cannot be read costs no other. */
  const putAside = (rows: ReadonlyArray<Row>): Promise<void> =>
    committed(commits, {
      grows: false,
      apply: (draft) => {
        for (const [key, record] of rows) {
          if (!store.dead.removeSync(key)) continue
          store.aside.putSync(++draft.quarantined, record)
          draft.dead--
        }
      },
    })

  /** The letters after `after`, at most `limit` of them, and where the look ended. */
  const page = (after: number, limit: number, last = Infinity): Page<A> => {
    const found: Array<Filed<A>> = []
    const bad: Row[] = []
    let end: number | undefined
    const rows = store.dead.getRange({ start: after + 1, ...(last === Infinity ? {} : { end: last + 1 }) })
    for (const { key, value } of rows) {
      if (found.length >= limit) {
        end = found.at(-1)?.key
        break
      }
      const letter = letterIn(key, value)
      if (letter === undefined) bad.push([key, value])
      else found.push({ key, record: value, letter })
    }
    commits.looked(found.length)
    // Who lists them is not told of a store that fails: they will be found again.
    if (bad.length > 0) putAside(bad).catch(() => undefined)
    return { found, end }
  }

  /** Goes through all that are there now, a page in each transaction. */
  const each = async (
    matches: (letter: DeadLetter<A>) => boolean,
    change: (filed: ReadonlyArray<Filed<A>>) => Promise<number>,
  ): Promise<number> => {
    const last = commits.totals().letters
    let count = 0
    for (let after: number | undefined = 0; after !== undefined;) {
      const from: number = after
      const { found, end }: Page<A> = await read(() => page(from, GULP, last))
      const chosen = found.filter(({ letter }) => matches(letter))
      if (chosen.length > 0) count += await change(chosen)
      after = end
    }
    return count
  }

  /** Within a transaction: copied first, then removed, with nothing known of it any more, so that its deadline is a new one. */
  const revive = ({ key, record, weight }: Weighed<A>, draft: Draft): boolean => {
    if (!store.dead.doesExist(key)) return false
    store.fresh.putSync(++draft.items, withAbout(record, ''), { append: true })
    store.dead.removeSync(key)
    enters(draft, weight)
    draft.dead--
    return true
  }

  const redrive = async (
    filed: ReadonlyArray<Filed<A>>,
    moved: ((count: number) => void) | undefined,
  ): Promise<number> => {
    const weighed = filed.map((each): Weighed<A> => {
      const count = countOf(codec, each.letter.entry.item)
      return { ...each, weight: { count, size: sizeIn(each.record) } }
    })
    // What there is no room for stays dead.
    const chosen = weighed.filter(({ weight }) => {
      if (room.boundFor(weight) !== undefined) return false
      room.hold(weight)
      return true
    })
    const apply = (draft: Draft): number => chosen.filter((each) => revive(each, draft)).length
    try {
      return chosen.length === 0
        ? 0
        : await committed(commits, { grows: false, apply, ...(moved && { settle: moved }) })
    } finally {
      for (const { weight } of chosen) room.letGo(weight)
    }
  }

  const purge = (filed: ReadonlyArray<Filed<A>>): Promise<number> => {
    const apply = (draft: Draft): number => {
      const gone = filed.filter(({ key }) => store.dead.removeSync(key)).length
      draft.dead -= gone
      return gone
    }
    return committed(commits, { grows: false, apply })
  }

  const makeRoom = (draft: Draft): void => {
    const tooMany = draft.dead - keepDead
    if (tooMany <= 0) return
    for (const oldest of [...store.dead.getKeys({ limit: tooMany })]) {
      store.dead.removeSync(oldest)
      draft.dead--
      draft.evictedDeadLetters++
    }
  }

  const put = (record: Buffer, draft: Draft): void => {
    store.dead.putSync(++draft.letters, record, { append: true })
    draft.dead++
    makeRoom(draft)
  }

  /** A letter for each part that died. What is known of the tries of the whole is not theirs. */
  const putParts = (
    { id, firstAttemptAt }: Entry<A>,
    parts: ReadonlyArray<Outcome<A>>,
    draft: Draft,
  ): void => {
    for (const part of parts) {
      const { item } = part
      const about = diedToText({ id, item, firstAttemptAt, progress: undefined }, part, now())
      put(encodeRecord({ size: codec.sizeOf(item), about, text: codec.toText(item) }), draft)
    }
  }

  return {
    list: ({ after = '0', limit = DEAD_PAGE } = {}) =>
      read(() => page(Number(after), limit).found.map(({ letter }) => letter)),
    redrive: (matches, moved) => each(matches, (filed) => redrive(filed, moved)),
    purge: (matches) => each(matches, purge),
    lay: (entry, outcome, record, draft) => {
      if (codec.lettersOf === undefined) put(withAbout(record, diedToText(entry, outcome, now())), draft)
      else putParts(entry, codec.lettersOf(outcome), draft)
    },
  }
}
