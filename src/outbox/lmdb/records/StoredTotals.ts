/**
 * The counters of a store. They are written in the transaction that changes them, so that opening counts nothing.
 *
 * @module
 */

/** The counters of a store. */
export interface StoredTotals {
  readonly waiting: number
  readonly bytes: number
  readonly dead: number
  /** Of what waits. */
  readonly unreadable: number
  readonly quarantined: number
  readonly evictedDeadLetters: number
  /** The number that the last item was given. Never used again, so an id is unique for as long as the store lives. */
  readonly items: number
  /** The number that the last dead letter was given. */
  readonly letters: number
  /** The moment, in the time of the store, at which something was put back last. */
  readonly latest: number
}

/** Counters while a transaction works on them. */
export type Draft = { -readonly [Name in keyof StoredTotals]: StoredTotals[Name] }

/** The counters of an empty store. */
export const noTotals: StoredTotals = {
  waiting: 0,
  bytes: 0,
  dead: 0,
  unreadable: 0,
  quarantined: 0,
  evictedDeadLetters: 0,
  items: 0,
  letters: 0,
  latest: 0,
}

const isCount = (value: unknown): value is number => typeof value === 'number' && value >= 0

/** What something counts for in the bounds. */
export interface Weight {
  readonly count: number
  readonly size: number
}

/** Something begins to wait. */
export const enters = (draft: Draft, { count, size }: Weight): void => {
  draft.waiting += count
  draft.bytes += size
}

/** Something waits no more. Sizes need not be whole numbers, so nothing waits when nothing waits. */
export const leaves = (draft: Draft, { count, size }: Weight): void => {
  draft.waiting = Math.max(0, draft.waiting - count)
  draft.bytes = draft.waiting === 0 ? 0 : Math.max(0, draft.bytes - size)
}

/** The text of counters. */
export const totalsToText = (totals: StoredTotals): string => JSON.stringify(totals)

/** Counters that a store may not have yet, because they are younger than it. */
const YOUNGER = { unreadable: 0, quarantined: 0, evictedDeadLetters: 0, latest: 0 }

const isTotals = (found: object): found is StoredTotals => {
  const fields = new Map<string, unknown>(Object.entries(found))
  return Object.keys(noTotals).every((name) => isCount(fields.get(name)))
}

/** The counters in a text; undefined if it is none of ours. */
export const totalsFromText = (text: string): StoredTotals | undefined => {
  try {
    const found: unknown = JSON.parse(text)
    if (typeof found !== 'object' || found === null) return undefined
    const totals = { ...YOUNGER, ...found }
    return isTotals(totals) ? totals : undefined
  } catch {
    return undefined
  }
}
