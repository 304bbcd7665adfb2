import type { Cancel } from '../../core/clock.ts'

const tasks = new Set<() => void>()

const runAll = (): void => {
  for (const task of [...tasks]) task()
}

/**
 * Runs `task` each time the program has nothing left to do, until it is taken away. All clients share one listener, for Node warns of
 * more than ten; and without a client that waits for something there is none.
 */
export const atExit = (task: () => void): Cancel => {
  if (tasks.size === 0) process.on('beforeExit', runAll)
  tasks.add(task)
  return () => {
    tasks.delete(task)
    if (tasks.size === 0) process.off('beforeExit', runAll)
  }
}
