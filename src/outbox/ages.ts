/** When the entries that wait were accepted. @module */

export const ages = () => {
  const times = new Map<string, number>()

  return {
    /** No id comes twice. */
    accepted: (id: string, at: number): void => void times.set(id, at),
    /** An entry has another id: it was stored. */
    renamed: (from: string, to: string): void => {
      const at = times.get(from)
      if (at === undefined) return
      times.delete(from)
      times.set(to, at)
    },
    ended: (id: string): void => {
      // Mostly nothing listens: then no string is looked up.
      if (times.size > 0) times.delete(id)
    },
    /** When the oldest was accepted. It looks at all: entries are not stored in the order of acceptance. */
    oldest: (): number | undefined => {
      let oldest: number | undefined
      for (const at of times.values()) if (oldest === undefined || at < oldest) oldest = at
      return oldest
    },
  }
}
