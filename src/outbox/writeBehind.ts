/**
 * An outbox that accepts at once and stores soon: items of one turn become one list for the store.
 *
 * While the store fails, items wait in memory: they are leased from there, after those of the store, and
 * offered to the store every second.
 *
 * @module
 */
import { left, right } from '../core/either.ts'
import { isPromiseLike, whenDone, type Awaitable } from '../core/awaitable.ts'
import { fullIn, type Bounds, type Full } from '../core/refusal.ts'
import { scheduleSafely, type Cancel, type Clock } from '../core/clock.ts'
import { heap } from '../core/heap.ts'
import { onceSoon, type OwnContext } from '../core/ownContext.ts'
import { queue } from '../core/queue.ts'
import { newEntry, type Ack, type Entry, type Nack, type Outbox } from './outbox.ts'
import type { Relay } from './relay.ts'
import { STORE_RETRY_DELAY, endOfAll } from './storeLimit.ts'

/** The bounds are those of the items that are not stored yet, beside those of the store. */
export interface WriteBehindOptions<A> extends Bounds {
  readonly clock: Clock
  readonly own: OwnContext
  /** Bytes that an item takes in memory. */
  readonly sizeOf: (item: A) => number
  /** The relay that leases from here. It is made afterwards. */
  readonly work: () => Relay<A>
  readonly failed: (error: unknown) => void
}

const UNSTORED = 'unstored-'
const numberOf = ({ id }: Entry<unknown>): number => Number(id.slice(UNSTORED.length))

export const writeBehind = <A>(store: Outbox<A>, options: WriteBehindOptions<A>) => {
  const { clock, own, sizeOf, work, failed } = options
  const arriving = queue<Entry<A>>()
  let storing: ReadonlyArray<Entry<A>> = []
  /** Of `storing`: entries that the store handed out before it answered. */
  const early = new Set<Entry<A>>()
  /** Leased from memory and not ended, by id, oldest first. Empty unless the store failed. */
  const lent = new Map<string, Entry<A>>()
  const retries = heap<Entry<A>>()
  let bytes = 0
  let arrived = 0
  /** Set while the store fails. */
  let pause: Cancel | undefined
  /** Whether the store keeps all that came. */
  let isKept = true

  const unstored = (): number => arriving.size() + storing.length - early.size + lent.size
  const isStored = ({ id }: Entry<A>): boolean => lent.size === 0 || !lent.has(id)
  const becameStored = (entry: Entry<A>, stored: Entry<A>): void => {
    bytes -= sizeOf(entry.item)
    isKept &&= store.keeps(stored)
    work().renamed(entry.id, stored.id)
    work().added(entry.item)
  }

  const fullFor = (input: unknown, size: number): Full | undefined => {
    const full = fullIn(input, unstored(), bytes + size, options)
    if (full !== undefined) return full
    const stats = store.stats()
    return fullIn(input, stats.waiting + unstored(), stats.bytes + bytes + size, stats)
  }

  const putFirst = (entries: ReadonlyArray<Entry<A>>): void =>
    [...entries, ...arriving.drain()].forEach((entry) => arriving.push(entry))
  const storeAgain = (): void => {
    // A store that keeps nothing over a restart has its own entries: stored again, they would leave it twice.
    const recalled = work().recall((entry) => !isStored(entry))
    for (const { id } of recalled) lent.delete(id)
    putFirst(recalled)
    pause = undefined
    void storeAll()
  }

  const mayStore = (): boolean => arriving.size() > 0 && pause === undefined && work().isOpen()

  /** Stores the items that arrive, one list after the other. Never rejects. */
  const storeAll = async (): Promise<void> => {
    while (storing.length === 0 && mayStore()) {
      storing = arriving.drain()
      let answers: Awaited<ReturnType<typeof store.enqueue>> = []
      try {
        const answer = store.enqueue(storing.map(({ item }) => item))
        answers = isPromiseLike(answer) ? await work().inTime(answer) : answer
      } catch (error) {
        failed(error)
      }
      const refused: Array<Entry<A>> = []
      for (const [index, entry] of storing.entries()) {
        if (early.has(entry)) continue
        const answer = answers[index]
        if (answer?._tag === 'Right') becameStored(entry, answer.right)
        else {
          refused.push(entry)
          work().added(entry.item)
        }
      }
      storing = []
      early.clear()
      if (refused.length > 0) {
        putFirst(refused)
        pause = scheduleSafely(clock, STORE_RETRY_DELAY, () => own(storeAgain), failed)
      }
      work().poll()
    }
  }
  const storeSoon = onceSoon(own, () => void storeAll())

  /** A store may hand out items that it has not confirmed yet: then it has them. */
  const noteStored = (leased: ReadonlyArray<Entry<A>>): void => {
    if (storing.length === 0) return
    const byItem = new Map(leased.map((entry) => [entry.item, entry]))
    for (const entry of storing) {
      const stored = byItem.get(entry.item)
      if (stored === undefined || early.has(entry)) continue
      early.add(entry)
      becameStored(entry, stored)
    }
  }

  /** Writes the store's entries, and then those in memory: if the store fails, the list is repeated. */
  const split = <W extends { readonly entry: Entry<A> }>(
    list: ReadonlyArray<W>,
    write: (list: ReadonlyArray<W>) => Awaitable<void>,
    inMemory: (each: W) => void,
  ): Awaitable<void> => {
    if (lent.size === 0) return write(list)
    const stored = list.filter(({ entry }) => isStored(entry))
    const mine = list.filter(({ entry }) => !isStored(entry))
    return whenDone(stored.length > 0 ? write(stored) : undefined, () => mine.forEach(inMemory))
  }

  const waitAgain = ({ entry, due }: Nack<A>): void => retries.push(due, entry)
  const leave = ({ entry }: Ack<A>): void => {
    if (lent.delete(entry.id)) bytes -= sizeOf(entry.item)
  }

  const outbox: Outbox<A> = {
    ...(store.opened && { opened: store.opened.bind(store) }),
    ...(store.watch && { watch: store.watch.bind(store) }),
    keeps: (entry) => isStored(entry) && store.keeps(entry),
    enqueue: (items) =>
      items.map((item) => {
        const size = sizeOf(item)
        const full = fullFor(item, size)
        if (full !== undefined) return left(full)
        const entry = newEntry(`${UNSTORED}${String(++arrived)}`, item)
        bytes += size
        arriving.push(entry)
        if (pause !== undefined) work().added(item)
        storeSoon()
        return right(entry)
      }),
    lease: (now, limits) => {
      const use = (stored: ReadonlyArray<Entry<A>>): ReadonlyArray<Entry<A>> => {
        noteStored(stored)
        if (pause === undefined && retries.size() === 0) return stored
        const maxRetries = Math.min(limits.count, limits.retries)
        const all = [...stored, ...retries.take(now, maxRetries - stored.length)]
        if (pause === undefined || limits.retriesOnly === true) return all
        const fresh = arriving.drain(limits.count - all.length)
        for (const entry of fresh) lent.set(entry.id, entry)
        return [...all, ...fresh]
      }
      const lost = (error: unknown): ReadonlyArray<Entry<A>> => {
        if (pause === undefined && retries.size() === 0) throw error
        failed(error)
        return use([])
      }
      try {
        const answer = store.lease(now, limits)
        return isPromiseLike(answer) ? answer.then(use, lost) : use(answer)
      } catch (error) {
        return lost(error)
      }
    },
    nack: (list) => split(list, (stored) => store.nack(stored), waitAgain),
    ack: (list) => split(list, (stored) => store.ack(stored), leave),
    takeRemaining: () => {
      pause?.()
      const parked = retries.drain()
      for (const { id } of parked) lent.delete(id)
      const held = [...parked, ...arriving.drain()]
      const mine = new Set(held.map(({ item }) => item))
      bytes = 0
      isKept &&= held.length === 0
      // Items whose call failed may be in the store.
      return whenDone(store.takeRemaining(), (all) => [...held, ...all.filter(({ item }) => !mine.has(item))])
    },
    nextDue: (retriesOnly = false) => {
      const fresh = pause !== undefined && !retriesOnly && arriving.size() > 0 ? 0 : Infinity
      const due = Math.min(store.nextDue(retriesOnly) ?? Infinity, retries.peekKey() ?? Infinity, fresh)
      return due === Infinity ? undefined : due
    },
    stats: () => {
      const stats = store.stats()
      return { ...stats, waiting: stats.waiting + unstored(), bytes: stats.bytes + bytes }
    },
    dead: store.dead,
    close: (given) => store.close(given),
  }

  /** A check whether everything accepted so far is stored, or has ended. */
  const storedSoFar = (): (() => boolean) => {
    const last = arrived
    return () => {
      // Those in memory are numbered by arrival, and each list has its oldest first.
      const [oldest = storing[0] ?? arriving.peek()] = lent.values()
      return oldest === undefined || numberOf(oldest) > last
    }
  }

  return {
    outbox,
    fullFor,
    unstored,
    /** Whether items are on their way into the store. */
    isStoring: (): boolean => storing.length > 0 || mayStore(),
    isKept: (): boolean => isKept,
    /** Stores what arrived before the store was open. */
    storeSoon,
    stored: storedSoFar,
    /** A check whether everything accepted so far has ended, of a store that others use too. */
    flushed: (): (() => boolean) => {
      const isStored = storedSoFar()
      const isOver = endOfAll(store, () => work().isOpen() && isStored(), work().poll, failed)
      return () => !work().hasWorkBefore(Infinity) || isOver()
    },
  }
}
