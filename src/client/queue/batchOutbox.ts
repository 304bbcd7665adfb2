import { right } from 'fp-ts/lib/Either.js'
import { linkedList } from '../../core/linkedList.ts'
import type { Link } from '../../core/linkedList.ts'
import { heap } from '../../core/heap.ts'
import { lookup } from '../../core/lookup.ts'
import { queue } from '../../core/queue.ts'
import type { Queue } from '../../core/queue.ts'
import type { Entry, Outbox } from '../../outbox/oldOutbox.ts'

/** An outbox of batches, from which the oldest can be taken back. */
export interface BatchOutbox<A> extends Outbox<A> {
  /** Takes out the oldest of those that are not handed out; undefined if there is none. */
  readonly withdrawOldest: () => Entry<A> | undefined
}

/** One at a time: the head is handed out, parked or about to go, the others wait behind it. */
interface Lane<A> {
  readonly behind: Queue<Held<A>>
  busy: boolean
}

/** An entry in the outbox. The chain of them is in the order of their coming. */
interface Held<A> extends Link<Held<A>> {
  entry: Entry<A>
  readonly lane: Lane<A> | undefined
  place: 'behind' | 'ready' | 'out' | Ticket<A>
}

/** A place in the heap of what is parked. Withdrawing does not search for it: it leaves an empty ticket there, which holds no text. */
interface Ticket<A> {
  held: Held<A> | undefined
}

/** So many empty tickets may stay, or as many as there are others. */
const FEW_EMPTY = 64

const done: Promise<void> = Promise.resolve()

/**
 * The client's own outbox: in memory, without bounds, for the client bounds messages and not batches, and without dead letters. With a
 * lane, a batch is handed out only when the one before it in its lane has ended, retries included; `undefined` waits for
 * nobody.
 */
export const batchOutbox = <A extends { readonly byteLength: number }>(
  laneOf: (item: A) => number | undefined,
): BatchOutbox<A> => {
  const all = linkedList<Held<A>>()
  const ready = queue<Held<A>>()
  const parked = heap<Ticket<A>>()
  const out = lookup<Held<A>>()
  const lanes = new Map<number, Lane<A>>()
  let appended = 0
  let bytes = 0
  let empty = 0

  const laneFor = (item: A): Lane<A> | undefined => {
    const key = laneOf(item)
    if (key === undefined) return undefined
    const known = lanes.get(key)
    if (known !== undefined) return known
    const lane: Lane<A> = { behind: queue(), busy: false }
    lanes.set(key, lane)
    return lane
  }

  const enter = (held: Held<A>): void => {
    all.push(held)
    bytes += held.entry.item.byteLength
    const { lane } = held
    if (lane?.busy === true) {
      lane.behind.push(held)
      return
    }
    if (lane !== undefined) lane.busy = true
    held.place = 'ready'
    ready.push(held)
  }

  /** It holds nobody back any more. */
  const vacate = ({ lane }: Held<A>): void => {
    if (lane === undefined) return
    const next = lane.behind.shift()
    lane.busy = next !== undefined
    if (next === undefined) return
    next.place = 'ready'
    ready.push(next)
  }

  const remove = (held: Held<A>): void => {
    all.remove(held)
    bytes -= held.entry.item.byteLength
  }

  const tear = (ticket: Ticket<A>): void => {
    ticket.held = undefined
    empty++
    if (empty <= FEW_EMPTY || empty * 2 <= parked.size()) return
    parked.remove(({ held }) => held === undefined)
    empty = 0
  }

  /** When the first of what is parked is due. */
  const firstDue = (): number | undefined => {
    for (let top = parked.peek(); top !== undefined && top.held === undefined; top = parked.peek()) {
      parked.pop()
      empty--
    }
    return parked.peekKey()
  }

  /** The oldest stands at the head of whatever it stands in, but in the heap, and among the heads of lanes, which are few. */
  const withdraw = (held: Held<A>): void => {
    const { place, lane } = held
    remove(held)
    if (place === 'behind') {
      lane?.behind.shift()
      return
    }
    if (typeof place === 'object') tear(place)
    else if (ready.peek() === held) ready.shift()
    else for (const each of ready.drain()) if (each !== held) ready.push(each)
    vacate(held)
  }

  const handOut = (held: Held<A>): Entry<A> => {
    held.place = 'out'
    out.set(held.entry.id, held)
    return held.entry
  }

  const takeBack = (entry: Entry<A>): Held<A> | undefined => {
    const held = out.get(entry.id)
    out.delete(entry.id)
    return held
  }

  return {
    durable: false,
    append: (item) => {
      const entry: Entry<A> = {
        id: `b${String(++appended)}`,
        item,
        firstAttemptAt: undefined,
        progress: undefined,
      }
      enter({ older: undefined, newer: undefined, entry, lane: laneFor(item), place: 'behind' })
      return right(entry)
    },
    take: (now, limit, mostParked) => {
      const taken: Array<Entry<A>> = []
      const parkedLimit = Math.min(limit, mostParked)
      while (taken.length < parkedLimit && (firstDue() ?? Infinity) <= now) {
        const held = parked.pop()?.held
        if (held !== undefined) taken.push(handOut(held))
      }
      while (taken.length < limit) {
        const held = ready.shift()
        if (held === undefined) break
        taken.push(handOut(held))
      }
      return taken
    },
    park: (entry, due) => {
      const held = takeBack(entry)
      if (held === undefined) return
      const ticket = { held }
      held.entry = entry
      held.place = ticket
      parked.push(due, ticket)
    },
    end: (entry) => {
      const held = takeBack(entry)
      if (held === undefined) return
      remove(held)
      vacate(held)
    },
    nextDue: () => (ready.size() > 0 ? 0 : firstDue()),
    withdrawOldest: () => {
      for (let held = all.oldest(); held !== undefined; held = held.newer) {
        if (held.place === 'out') continue
        withdraw(held)
        return held.entry
      }
      return undefined
    },
    abandon: () => {
      const waiting = all.drain()
      ready.drain()
      parked.drain()
      empty = 0
      lanes.clear()
      const given = waiting.filter(({ place }) => place !== 'out')
      for (const { entry } of given) bytes -= entry.item.byteLength
      for (const held of waiting) if (held.place === 'out') all.push(held)
      return given.map(({ entry }) => entry)
    },
    dead: { list: () => [], redrive: () => 0, purge: () => 0 },
    stats: () => ({ waiting: all.size(), bytes, dead: 0, maxCount: Infinity, maxBytes: Infinity }),
    close: () => done,
  }
}
