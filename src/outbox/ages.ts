/**
 * When the entries that wait were accepted. Entries mostly end in the order of acceptance, so a queue is
 * enough: an end behind the oldest is noted, and its entry is left out later.
 *
 * @module
 */
import { queue } from '../core/queue.ts'

/** Ends that may be noted while the queue is short. */
const FEW = 64

export const ages = () => {
  const ids = queue<string>()
  const times = queue<number>()
  /** Entries that ended behind the oldest, or that were never accepted here. */
  const ended = new Set<string>()
  /** By its id in the store, the id with which an entry was accepted. */
  const earlier = new Map<string, string>()

  const leaveOut = (): void => {
    const at = times.drain()
    ids.drain().forEach((id, n) => {
      if (ended.has(id)) return
      ids.push(id)
      times.push(at[n] ?? 0)
    })
    ended.clear()
  }

  return {
    /** No id comes twice. */
    accepted: (id: string, at: number): void => {
      ids.push(id)
      times.push(at)
    },
    /** An entry has another id: it was stored. It keeps its place. */
    renamed: (from: string, to: string): void => {
      if (ids.size() > 0) earlier.set(to, from)
    },
    ended: (id: string): void => {
      if (ids.size() === 0) return
      const own = earlier.size === 0 ? id : (earlier.get(id) ?? id)
      earlier.delete(id)
      if (own !== ids.peek()) {
        ended.add(own)
        if (ended.size > FEW + ids.size() / 2) leaveOut()
        return
      }
      do {
        ids.shift()
        times.shift()
      } while (ended.size > 0 && ended.delete(ids.peek() ?? ''))
      if (ids.size() > 0) return
      ended.clear()
      earlier.clear()
    },
    /** When the oldest was accepted. */
    oldest: (): number | undefined => times.peek(),
  }
}
