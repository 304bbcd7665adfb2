/** Items by a number (a due time), smallest first; equal keys in order. A 4-ary heap: 24 bytes an item. */
export const heap = <A>() => {
  let keys: number[] = []
  let order: number[] = []
  let items: Array<A | undefined> = []
  let pushed = 0

  const before = (key: number, sequence: number, at: number): boolean => {
    const other = keys[at] ?? Infinity
    return key < other || (key === other && sequence < (order[at] ?? Infinity))
  }

  const place = (at: number, key: number, sequence: number, item: A | undefined): void => {
    keys[at] = key
    order[at] = sequence
    items[at] = item
  }

  const siftUp = (from: number, key: number, sequence: number, item: A): void => {
    let at = from
    while (at > 0) {
      const parent = (at - 1) >> 2
      if (!before(key, sequence, parent)) break
      place(at, keys[parent] ?? 0, order[parent] ?? 0, items[parent])
      at = parent
    }
    place(at, key, sequence, item)
  }

  const smallestChild = (at: number): number => {
    const first = at * 4 + 1
    let best = first
    const last = Math.min(first + 4, keys.length)
    for (let child = first + 1; child < last; child++)
      if (before(keys[child] ?? 0, order[child] ?? 0, best)) best = child
    return best
  }

  const siftDown = (key: number, sequence: number, item: A | undefined): void => {
    let at = 0
    while (at * 4 + 1 < keys.length) {
      const child = smallestChild(at)
      if (before(key, sequence, child)) break
      place(at, keys[child] ?? 0, order[child] ?? 0, items[child])
      at = child
    }
    place(at, key, sequence, item)
  }

  const pop = (): A | undefined => {
    const top = items[0]
    const key = keys.pop() ?? 0
    const sequence = order.pop() ?? 0
    const item = items.pop()
    if (keys.length > 0) siftDown(key, sequence, item)
    return top
  }

  return {
    size: (): number => keys.length,
    push: (key: number, item: A): void => siftUp(keys.length, key, pushed++, item),
    /** The smallest key, or undefined when empty. */
    peekKey: (): number | undefined => keys[0],
    /** The item with the smallest key, left in; undefined when empty. */
    peek: (): A | undefined => items[0],
    /** The item with the smallest key, taken out; undefined when empty. */
    pop,
    /** Takes out the items with keys up to `until`, at most `max`. */
    take: (until: number, max: number): A[] => {
      const taken: A[] = []
      for (let key = keys[0]; key !== undefined && key <= until && taken.length < max; key = keys[0])
        taken.push(pop() as A) // One for each key.
      return taken
    },
    /** Takes everything out, in no particular order. */
    drain: (): ReadonlyArray<A> => {
      // Each was filled by push.
      const all = items as A[]
      keys = []
      order = []
      items = []
      return all
    },
  }
}
