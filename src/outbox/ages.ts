/** When the entries that wait were accepted. Entries are accepted, and stored, in one order. @module */

const oldestIn = (times: ReadonlyMap<string, number>): number => {
  const [first = Infinity] = times.values()
  return first
}

export const ages = () => {
  const accepted = new Map<string, number>()
  /** Entries that were stored since, which gave them another id. */
  const stored = new Map<string, number>()

  return {
    /** No id comes twice. */
    accepted: (id: string, at: number): void => void accepted.set(id, at),
    renamed: (from: string, to: string): void => {
      const at = accepted.get(from)
      if (at === undefined) return
      accepted.delete(from)
      stored.set(to, at)
    },
    ended: (id: string): void => {
      // Mostly nothing listens: then no string is looked up.
      if (accepted.size > 0) accepted.delete(id)
      if (stored.size > 0) stored.delete(id)
    },
    /** When the oldest was accepted. */
    oldest: (): number | undefined => {
      const at = Math.min(oldestIn(accepted), oldestIn(stored))
      return at === Infinity ? undefined : at
    },
  }
}
