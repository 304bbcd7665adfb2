/**
 * A first-in, first-out queue from which any item can be removed in constant time: the items carry the links.
 * An item is in one list at most. A removed item holds no neighbour: links between ended deliveries tripled
 * the time of garbage collection.
 */
export interface LinkedList<L> {
  readonly size: () => number
  readonly oldest: () => L | undefined
  readonly push: (item: L) => void
  /** Takes an item out. Answers whether it was in. */
  readonly remove: (item: L) => boolean
  /** Takes everything out, oldest first. */
  readonly drain: () => ReadonlyArray<L>
}

/** The links of an item. Both are undefined at first. */
export interface Link<L> {
  older: L | undefined
  newer: L | undefined
}

export const linkedList = <L extends Link<L>>(): LinkedList<L> => {
  let oldest: L | undefined
  let newest: L | undefined
  let count = 0

  const remove = (item: L): boolean => {
    const { older, newer } = item
    if (older === undefined && oldest !== item) return false
    if (older === undefined) oldest = newer
    else older.newer = newer
    if (newer === undefined) newest = older
    else newer.older = older
    item.older = undefined
    item.newer = undefined
    count--
    return true
  }

  return {
    size: () => count,
    oldest: () => oldest,
    push: (item) => {
      item.older = newest
      if (newest === undefined) oldest = item
      else newest.newer = item
      newest = item
      count++
    },
    remove,
    drain: () => {
      const all: L[] = []
      for (let item = oldest; item !== undefined; item = oldest) {
        remove(item)
        all.push(item)
      }
      return all
    },
  }
}
