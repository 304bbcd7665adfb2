/** How an item is stored: its text and its size, and the data beside it as JSON, its `about`. */
import { valueOr } from '../core/either.ts'
import { retryable } from '../core/failure.ts'
import type { Outcome, Progress } from '../core/outcome.ts'
import type { DeadLetter, Entry, ItemCodec } from './outbox.ts'

/** The number of dead letters that are read at once, and moved in one transaction. */
export const DEAD_CHUNK = 500

/** An item to store. */
export type Offer<A> = ReturnType<typeof offerOf<A>>

/** An item with its size and text. A codec may be untyped, and a wrong size would spoil the counters. */
export const offerOf = <A>(codec: ItemCodec<A>, item: A) => {
  const wrong = (member: string, answer: string, wanted: string): RangeError =>
    new RangeError(`the codec's ${member} answered ${answer}: it must be ${wanted}`)
  const size = codec.sizeOf(item)
  if (!(typeof size === 'number' && size >= 0 && size <= Number.MAX_SAFE_INTEGER))
    throw wrong('sizeOf', String(size), 'a number from 0')
  const encoded = codec.toText(item)
  if (typeof encoded !== 'string') throw wrong('toText', typeof encoded, 'a string')
  if (!encoded.isWellFormed())
    throw new RangeError("the codec's toText answered half a character: not stored")
  return { item, size, text: encoded }
}

/** The data beside an item that waits for a retry, and beside a dead letter. */
interface About {
  readonly firstAttemptAt?: number | undefined
  readonly progress?: Progress | undefined
  /** Of a dead letter: its entry's id, the time of its end, its outcome. Its item is the record's body. */
  readonly id?: string
  readonly at?: number
  readonly outcome?: Omit<Outcome<unknown>, 'item'>
}

const UNWRITABLE = retryable('defect', { detail: 'the failure could not be written as JSON' })

/**
 * Moves the moments of the process by `ms`; the `at` of a dead letter is one of the store. JSON has no
 * infinity and no NaN, but a sink of the host may put them into a failure: they are left out.
 */
const movedBy =
  (ms: number) =>
  (key: string, value: unknown): unknown => {
    if (typeof value !== 'number') return value
    const isMoment = key === 'firstAttemptAt' || key === 'notBefore'
    return Number.isFinite(value) ? value + (isMoment ? ms : 0) : undefined
  }

/** As JSON. A failure of the host's sink that is no JSON must not keep its item from ending. */
const aboutJson = (about: About, ahead = 0): string => {
  const write = (each: object): string => JSON.stringify(each, movedBy(ahead))
  try {
    return write(about)
  } catch {
    const { progress, outcome } = about
    return write({
      ...about,
      ...(progress && { progress: { ...progress, lastFailure: UNWRITABLE } }),
      ...(outcome && { outcome: { ...outcome, failure: UNWRITABLE } }),
    })
  }
}

/** The `about` of an entry that is put back: '' if it was never attempted. `ahead`: see `StoredRecord`. */
export const aboutRetry = <A>({ firstAttemptAt, progress }: Entry<A>, ahead?: number): string =>
  firstAttemptAt === undefined && progress === undefined ? '' : aboutJson({ firstAttemptAt, progress }, ahead)

/** The `about` of a dead letter that ended at `at`. */
export const aboutDead = <A>(
  { id, firstAttemptAt, progress }: Entry<A>,
  { item: _, ...outcome }: Outcome<A>,
  at: number,
  ahead?: number,
): string => aboutJson({ id, at, firstAttemptAt, progress, outcome }, ahead)

/** The `about` of a record that could not be read, found at `at`. */
export const aboutCorrupt = (at: number): string => aboutJson({ at })

/**
 * An item as it is stored: a text, and what headrace knows of it; '' and null say nothing. `ahead`:
 * milliseconds that the store's clock is ahead of the one of this process. Default 0. @inline
 */
export interface StoredRecord {
  readonly id: string | number
  readonly text: string
  readonly about: string | null
  readonly ahead?: number
}

/** Only the functions above write it. */
const aboutIn = ({ about, ahead = 0 }: StoredRecord): About =>
  about ? (JSON.parse(about, ahead === 0 ? undefined : movedBy(-ahead)) as About) : {}

/** The entry in a record. Undefined if it cannot be read: end it with `aboutCorrupt`. */
export const entryIn = <A>(codec: ItemCodec<A>, record: StoredRecord): Entry<A> | undefined =>
  valueOr(undefined, () => {
    const { firstAttemptAt, progress } = aboutIn(record)
    return { id: String(record.id), item: codec.fromText(record.text), firstAttemptAt, progress }
  })

/** The dead letter in a record. One that cannot be read is corrupt. */
export const deadLetterIn = <A>(codec: ItemCodec<A>, record: StoredRecord): DeadLetter<A> => {
  const id = String(record.id)
  const { id: entryId = id, at = 0, outcome } = valueOr<About, About>({}, () => aboutIn(record))
  const entry = outcome && entryIn(codec, { ...record, id: entryId })
  if (entry === undefined) return { id, at, reason: 'corrupt', raw: record.text }
  // With its item it is the outcome that `aboutDead` was given.
  return { id, at, reason: 'ended', entry, outcome: { ...outcome, item: entry.item } as Outcome<A> }
}
