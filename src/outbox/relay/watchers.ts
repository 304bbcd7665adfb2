import type { Cancel } from '../../clock/Clock.ts'

/** Those who look again after each change. */
export interface Watchers {
  readonly changed: () => void
  /** Has `listener` called after each change. Answers how to take it away. */
  readonly onChange: (listener: () => void) => Cancel
  /** Runs `task` once, as soon as `isSo`: now, or after some change. */
  readonly whenever: (isSo: () => boolean, task: () => void) => void
}

/** Nobody watches yet. */
export const watchers = (): Watchers => {
  const all = new Set<() => void>()
  return {
    changed: () => {
      // Called several times for each item, and mostly nobody watches.
      if (all.size === 0) return
      for (const watcher of all) watcher()
    },
    onChange: (listener) => {
      all.add(listener)
      return () => {
        all.delete(listener)
      }
    },
    whenever: (isSo, task) => {
      const check = (): void => {
        if (!isSo()) return
        all.delete(check)
        task()
      }
      all.add(check)
      check()
    },
  }
}
