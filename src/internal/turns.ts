import { ring } from './Ring.ts'

/** Tasks of which each has its turn. */
export interface Turns {
  /** Runs a task on what it is given, now or after those that came before it. A task must not throw. */
  readonly take: <T>(task: (given: T) => void, given: T) => void
  /** Whether a task runs. */
  readonly busy: () => boolean
}

/**
 * Runs tasks one after the other, never one inside another. What a listener causes while it is told of something is told after it:
 * so all listeners hear everything in the same order (a re-entrant `Subject.next` turns it round for all but the first).
 */
export const turns = (): Turns => {
  const waiting = ring<() => void>()
  let busy = false
  return {
    take: (task, given) => {
      if (busy) {
        waiting.push(() => {
          task(given)
        })
        return
      }
      busy = true
      task(given)
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) next()
      busy = false
    },
    busy: () => busy,
  }
}
