import type { Entry } from '../oldOutbox.ts'
import { justAppended } from './entering/justAppended.ts'
import type { Remembered } from './entering/justAppended.ts'
import type { Weight } from './records/StoredTotals.ts'
import type { ParkedKey, Store } from './oldStore.ts'

/** Where the record of an entry that was handed out lies. */
export interface Place extends Weight {
  /** In the order of due times, or, if it was never put back, of appends. */
  readonly parked: ParkedKey | undefined
  readonly number: number
  /** Its end, or its way back, is being written. */
  leaving: boolean
}

/** What a record turned out to be. */
export interface Found<A> extends Weight {
  readonly entry: Entry<A>
}

/** How entries are read. */
export interface DueEntriesOptions<A> {
  readonly store: Pick<Store, 'fresh' | 'parked'>
  /** The number of the newest append that was synced: one that is newer may be seen, but nobody was told of it. */
  readonly newest: () => number
  /** What the bytes of a record say; undefined if nothing. */
  readonly read: (number: number, bytes: Buffer) => Found<A> | undefined
  /** Is told of a record that says nothing. It is handed out no more. */
  readonly bad: (place: Place) => void
  /** How much of what was appended is remembered until it is handed out. */
  readonly remembered: Remembered
}

/**
 * The entries that wait in a store, by the order in which they are handed out. In memory are only those that are out, and the few that were
 * appended last.
 */
export interface DueEntries<A> {
  /** It was appended and synced, in a record of so many bytes. */
  readonly appended: (number: number, entry: Entry<A>, weight: Weight, bytes: number) => void
  /** As `Outbox.take` says. */
  readonly take: (now: number, limit: number, mostParked: number) => ReadonlyArray<Entry<A>>
  /** As `Outbox.parked` says. */
  readonly parked: {
    readonly nextDue: () => number | undefined
    readonly take: (now: number, limit: number) => ReadonlyArray<Entry<A>>
  }
  /** As `Outbox.nextDue` says. */
  readonly nextDue: () => number | undefined
  /** Where an entry lies that was handed out; undefined if it was not, or is on its way. */
  readonly placeOf: (id: string) => Place | undefined
  /** What was there is gone, or lies under `parked` from now on. */
  readonly left: (place: Pick<Place, 'number'>, parked?: ParkedKey) => void
  /** It came in under `parked`: out already, or as one that waits. */
  readonly came: (place: Place & { readonly parked: ParkedKey }, isOut: boolean) => void
}

const isBefore = ([due, number]: ParkedKey, [otherDue, other]: ParkedKey): boolean =>
  due < otherDue || (due === otherDue && number < other)

const FIRST: ParkedKey = [-Number.MAX_VALUE, 0]

/** What waits in a store, from its first entry on. */
export const dueEntries = <A>({
  store,
  newest,
  read,
  bad,
  remembered,
}: DueEntriesOptions<A>): DueEntries<A> => {
  const out = new Map<number, Place>()
  const recent = justAppended<Found<A>>(remembered)
  /** All fresh ones below it are out or gone. */
  let freshFrom = 0
  /** Whether there is one at `freshFrom`. */
  let freshIsThere = false
  /** All parked ones before it are out or gone. */
  let parkedFrom = FIRST
  /** The first parked one that is in; unknown after a change. */
  let first: { readonly due: number | undefined } | undefined

  /** Whether it may be handed out. Nobody was told yet of one that is newer than the newest. */
  const isIn = (number: number): boolean => number <= newest() && !out.has(number)

  const handOut = (
    parked: ParkedKey | undefined,
    number: number,
    found: Found<A> | undefined,
    into: Array<Entry<A>>,
  ): void => {
    const place: Place = {
      parked,
      number,
      count: found?.count ?? 0,
      size: found?.size ?? 0,
      leaving: false,
    }
    out.set(number, place)
    if (found === undefined) bad(place)
    else into.push(found.entry)
  }

  const takeParked = (now: number, limit: number, into: Array<Entry<A>>): void => {
    // Most looks are made because something ended, and bring only new ones.
    if (limit <= 0 || (first !== undefined && (first.due ?? Infinity) > now)) return
    for (const { key, value } of store.parked.getRange({ start: parkedFrom })) {
      const [due, number] = key
      const isHere = isIn(number)
      if (isHere && (due > now || into.length >= limit)) {
        parkedFrom = key
        first = { due }
        return
      }
      if (isHere) handOut(key, number, read(number, value), into)
      parkedFrom = [due, number + 1]
    }
    first = { due: undefined }
  }

  const readFresh = (end: number, limit: number, into: Array<Entry<A>>): void => {
    for (const { key, value } of store.fresh.getRange({ start: freshFrom, end })) {
      if (into.length >= limit) {
        freshFrom = key
        freshIsThere = true
        return
      }
      handOut(undefined, key, read(key, value), into)
    }
    freshFrom = end
    freshIsThere = false
  }

  const takeFresh = (limit: number, into: Array<Entry<A>>): void => {
    while (into.length < limit) {
      const next = recent.first()
      if (next === freshFrom) {
        handOut(undefined, next, recent.shift(), into)
        freshFrom = next + 1
        freshIsThere = false
        continue
      }
      // What lies before it is of an earlier life, came in another way, or found no room to be remembered.
      const end = next ?? newest() + 1
      if (freshFrom >= end) return
      readFresh(end, limit, into)
    }
  }

  /** Whether a fresh one is in. Not every number that was given still has its record, so it is looked for once. */
  const hasFresh = (): boolean => {
    if (freshIsThere || recent.first() === freshFrom) return true
    const end = newest() + 1
    if (freshFrom >= end) return false
    for (const key of store.fresh.getKeys({ start: freshFrom, end, limit: 1 })) {
      freshFrom = key
      freshIsThere = true
      return true
    }
    freshFrom = end
    return false
  }

  const firstParked = (): number | undefined => {
    if (first !== undefined) return first.due
    for (const key of store.parked.getKeys({ start: parkedFrom })) {
      if (!isIn(key[1])) continue
      parkedFrom = key
      first = { due: key[0] }
      return key[0]
    }
    first = { due: undefined }
    return undefined
  }

  const left: DueEntries<A>['left'] = ({ number }, parked) => {
    out.delete(number)
    if (parked === undefined) return
    if (isBefore(parked, parkedFrom)) parkedFrom = parked
    if (first?.due === undefined || parked[0] < first.due) first = undefined
  }

  return {
    appended: (number, entry, { count, size }, bytes) => {
      if (number >= freshFrom && recent.takes(number, bytes))
        recent.add(number, { entry, count, size }, bytes)
    },
    take: (now, limit, mostParked) => {
      const taken: Array<Entry<A>> = []
      takeParked(now, Math.min(limit, mostParked), taken)
      takeFresh(limit, taken)
      return taken
    },
    parked: {
      nextDue: firstParked,
      take: (now, limit) => {
        const taken: Array<Entry<A>> = []
        takeParked(now, limit, taken)
        return taken
      },
    },
    nextDue: () => (hasFresh() ? 0 : firstParked()),
    placeOf: (id) => {
      const place = out.get(Number(id))
      return place?.leaving === true ? undefined : place
    },
    left,
    came: (place, isOut) => {
      if (isOut) out.set(place.number, place)
      else left(place, place.parked)
    },
  }
}
