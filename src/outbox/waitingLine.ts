import { heap } from '../internal/Heap.ts'
import { ring } from '../internal/Ring.ts'
import type { Entry } from '../sink/Outbox.ts'

/** Entries that wait in memory: the new ones in the order of their coming, the parked ones by due time. */
export interface WaitingLine<A> {
  readonly enter: (entry: Entry<A>) => void
  readonly park: (entry: Entry<A>, due: number) => void
  /** As `Outbox.take` says. */
  readonly take: (now: number, limit: number, mostParked: number) => ReadonlyArray<Entry<A>>
  /** As `Outbox.nextDue` says. */
  readonly nextDue: () => number | undefined
  /** Takes out all that match. */
  readonly withdraw: (matches: (entry: Entry<A>) => boolean) => ReadonlyArray<Entry<A>>
  /** Takes out everything: first what was parked, then the new ones in their order. */
  readonly drain: () => ReadonlyArray<Entry<A>>
}

/** An empty line. Enter and take are O(1) for each entry, park is O(log n), and withdraw is O(n). */
export const waitingLine = <A>(): WaitingLine<A> => {
  const fresh = ring<Entry<A>>()
  const parked = heap<Entry<A>>()

  return {
    enter: fresh.push,
    park: (entry, due) => {
      parked.push(due, entry)
    },
    take: (now, limit, mostParked) => {
      const taken: Array<Entry<A>> = []
      const parkedLimit = Math.min(limit, mostParked)
      while (taken.length < parkedLimit && (parked.peekKey() ?? Infinity) <= now) {
        const entry = parked.pop()
        if (entry !== undefined) taken.push(entry)
      }
      while (taken.length < limit) {
        const entry = fresh.shift()
        if (entry === undefined) break
        taken.push(entry)
      }
      return taken
    },
    nextDue: () => (fresh.size() > 0 ? 0 : parked.peekKey()),
    withdraw: (matches) => {
      const gone = [...parked.remove(matches)]
      for (const entry of fresh.drain()) {
        if (matches(entry)) gone.push(entry)
        else fresh.push(entry)
      }
      return gone
    },
    drain: () => [...parked.drain(), ...fresh.drain()],
  }
}
