/**
 * A first-in, first-out queue out of whose middle an item leaves in constant time: its items carry the links themselves.
 * An item stands in one chain at most. One that has left holds no neighbour: links between ended deliveries made garbage
 * collection three times dearer (design.md, part 5).
 */
export interface LinkedList<L> {
  readonly size: () => number
  readonly oldest: () => L | undefined
  readonly push: (item: L) => void
  /** Takes an item out; does nothing if it is not in. */
  readonly remove: (item: L) => void
  /** Takes everything out, oldest first. */
  readonly drain: () => ReadonlyArray<L>
}

/** What an item needs to stand in a chain. Both are undefined at first. */
export interface Link<L> {
  older: L | undefined
  newer: L | undefined
}

/** An empty chain. */
export const linkedList = <L extends Link<L>>(): LinkedList<L> => {
  let oldest: L | undefined
  let newest: L | undefined
  let count = 0

  const remove = (item: L): void => {
    const { older, newer } = item
    if (older === undefined && oldest !== item) return
    if (older === undefined) oldest = newer
    else older.newer = newer
    if (newer === undefined) newest = older
    else newer.older = older
    item.older = undefined
    item.newer = undefined
    count--
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
