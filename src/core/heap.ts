/** Items in the order of a number (a due time), smallest first; equal keys leave in the order they came. A 4-ary heap: 24 bytes an item. */
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

const SMALLEST = 64

/** An empty heap. Push and pop are O(log n). */
export const heap = <A>(): Heap<A> => {
  let keys = new Float64Array(SMALLEST)
  let order = new Float64Array(SMALLEST)
  let items: Array<A | undefined> = []
  let count = 0
  let pushed = 0

  const grow = (): void => {
    const moreKeys = new Float64Array(keys.length * 2)
    moreKeys.set(keys)
    keys = moreKeys
    const moreOrder = new Float64Array(order.length * 2)
    moreOrder.set(order)
    order = moreOrder
  }

  const before = (key: number, sequence: number, at: number): boolean => {
    const other = keys[at] ?? Infinity
    return key < other || (key === other && sequence < (order[at] ?? Infinity))
  }

  const place = (at: number, key: number, sequence: number, item: A | undefined): void => {
    keys[at] = key
    order[at] = sequence
    items[at] = item
  }

  const siftUp = (from: number, key: number, sequence: number, item: A | undefined): void => {
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
    const last = Math.min(first + 4, count)
    for (let child = first + 1; child < last; child++) {
      if (before(keys[child] ?? 0, order[child] ?? 0, best)) best = child
    }
    return best
  }

  const siftDown = (key: number, sequence: number, item: A | undefined): void => {
    let at = 0
    while (at * 4 + 1 < count) {
      const child = smallestChild(at)
      if (before(key, sequence, child)) break
      place(at, keys[child] ?? 0, order[child] ?? 0, items[child])
      at = child
    }
    place(at, key, sequence, item)
  }

  const reset = (): void => {
    keys = new Float64Array(SMALLEST)
    order = new Float64Array(SMALLEST)
    items = []
    count = 0
  }

  return {
    size: () => count,
    push: (key, item) => {
      if (count === keys.length) grow()
      siftUp(count++, key, pushed++, item)
    },
    peekKey: () => (count === 0 ? undefined : keys[0]),
    peek: () => items[0],
    pop: () => {
      if (count === 0) return undefined
      const top = items[0]
      count--
      // With `items.length = count` in its place push and pop take a quarter longer.
      const last = items.pop()
      if (count > 0) siftDown(keys[count] ?? 0, order[count] ?? 0, last)
      else if (keys.length > SMALLEST) reset()
      return top
    },
    drain: () => {
      // The first `count` slots are filled by push, and only pop empties them.
      const all = items.slice(0, count) as A[]
      reset()
      return all
    },
  }
}
