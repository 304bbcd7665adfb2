import type { Clock } from './Clock.ts'

/**
 * Settles as `task` does, and rejects when that takes longer than `within` milliseconds. What the task does later is passed over: it is
 * for what must not keep a process from its end.
 */
export const inTime = (clock: Clock, within: number, task: () => Promise<void>): Promise<void> =>
  new Promise((resolve, reject) => {
    const cancel = clock.schedule(within, () => {
      reject(new Error(`it did not end within ${String(within)} ms`))
    })
    void Promise.resolve().then(task).finally(cancel).then(resolve, reject)
  })
