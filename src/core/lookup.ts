/**
 * Values by a string that come and go all the time. A `Map` makes its table anew again and again, and old tables keep ended values alive
 * until a full garbage collection: that took a fifth of the client's CPU time.
 */
export interface Lookup<V> {
  readonly size: () => number
  readonly get: (key: string) => V | undefined
  readonly set: (key: string, value: V) => void
  readonly delete: (key: string) => void
  /** In the order in which they were set, but whole numbers first and by size. */
  readonly values: () => ReadonlyArray<V>
}

/** An empty lookup. */
export const lookup = <V>(): Lookup<V> => {
  // Without a prototype, every string is a key like any other, `__proto__` too.
  const entries = Object.create(null) as Record<string, V>
  let count = 0
  return {
    size: () => count,
    get: (key) => entries[key],
    set: (key, value) => {
      if (!(key in entries)) count++
      entries[key] = value
    },
    delete: (key) => {
      if (!(key in entries)) return
      count--
      Reflect.deleteProperty(entries, key)
    },
    values: () => Object.values(entries),
  }
}
