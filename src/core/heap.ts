/** Items by a number (a due time), smallest first; equal keys in order. A 4-ary heap: 24 bytes an item. */
export interface Heap<A> {
  readonly size: () => number
  readonly push: (key: number, item: A) => void
  /** The smallest key, or undefined when empty. */
  readonly peekKey: () => number | undefined
  /** The item with the smallest key, left in; undefined when empty. */
  readonly peek: () => A | undefined
  /** The item with the smallest key, taken out; undefined when empty. */
  readonly pop: () => A | undefined
  /** Takes everything out, in no particular order. */
  readonly drain: () => ReadonlyArray<A>
}

/** An empty heap. Push and pop are O(log n). */
export const heap = <A>(): Heap<A> => {
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

  return {
    size: () => keys.length,
    push: (key, item) => siftUp(keys.length, key, pushed++, item),
    peekKey: () => keys[0],
    peek: () => items[0],
    pop: () => {
      const top = items[0]
      const key = keys.pop() ?? 0
      const sequence = order.pop() ?? 0
      const item = items.pop()
      if (keys.length > 0) siftDown(key, sequence, item)
      return top
    },
    drain: () => {
      // Each was filled by push.
      const all = items as A[]
      keys = []
      order = []
      items = []
      return all
    },
  }
}
