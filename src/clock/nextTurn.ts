import type { Cancel } from './Clock.ts'

/**
 * Runs `task` once in the next turn of the event loop, when I/O has had its chance. It is no time that passes: it is how long work
 * steps aside, and a virtual clock does not hold it up.
 */
export const nextTurn = (task: () => void): Cancel => {
  const immediate = setImmediate(task)
  return () => {
    clearImmediate(immediate)
  }
}
