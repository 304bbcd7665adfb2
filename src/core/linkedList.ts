/** The links of an item. Both are undefined, or missing, at first. */
export interface Link<L> {
  older?: L | undefined
  newer?: L | undefined
}

export type LinkedList<L extends Link<L>> = ReturnType<typeof linkedList<L>>

/**
 * A first-in, first-out queue from which any item can be removed in constant time: the items carry the links.
 * An item is in one list at most. A removed item holds no neighbour: links between ended deliveries tripled
 * the time of garbage collection.
 */
export const linkedList = <L extends Link<L>>() => {
  let oldest: L | undefined
  let newest: L | undefined
  let count = 0

  /** Takes an item out. Answers whether it was in. */
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
    size: (): number => count,
    oldest: (): L | undefined => oldest,
    push: (item: L): void => {
      item.older = newest
      if (newest === undefined) oldest = item
      else newest.newer = item
      newest = item
      count++
    },
    remove,
    /** Takes everything out, oldest first. */
    drain: (): ReadonlyArray<L> => {
      const all: L[] = []
      for (let item = oldest; item !== undefined; item = oldest) {
        remove(item)
        all.push(item)
      }
      return all
    },
  }
}
