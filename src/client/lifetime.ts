/**
 * What binds a client to its process: only while it holds messages.
 *
 * @module
 */
import { systemClock } from '../core/clock.ts'
import type { Cancel } from '../core/clock.ts'
import { callSafely } from '../log/listeners.ts'
import { nothingToCancel } from '../sink/layer.ts'

const exitTasks = new Set<() => void>()

const runExitTasks = (): void => {
  for (const task of [...exitTasks]) task()
}

/** Runs `task` each time the program has nothing left to do. All clients share one listener: Node warns of more than ten. */
const atExit = (task: () => void): Cancel => {
  if (exitTasks.size === 0) process.on('beforeExit', runExitTasks)
  exitTasks.add(task)
  return () => {
    exitTasks.delete(task)
    if (exitTasks.size === 0) process.off('beforeExit', runExitTasks)
  }
}

/** The longest timer. It is cancelled long before. */
const FOREVER = 2_147_483_647

const nothing = (): void => undefined

/** Keeps the process alive, which the timers and sockets of a client do not. */
export const hold = (): Cancel => systemClock.schedule(FOREVER, nothing)

/** Keeps the process alive until the promise is settled. */
export const held = <T>(promise: Promise<T>): Promise<T> => {
  const release = hold()
  void promise.then(release, release)
  return promise
}

export interface Lifetime {
  /** Messages wait. */
  readonly busy: () => void
  /** No message waits that will end. */
  readonly idle: () => void
}

/**
 * @param drain is called when the program has nothing left to do and messages wait; undefined to let it go
 * @param failed receives errors of `waitUntil`
 */
export const lifetime = (
  waitUntil: ((ended: Promise<unknown>) => void) | undefined,
  drain: (() => void) | undefined,
  failed: (error: unknown) => void,
): Lifetime => {
  let unregister: Cancel = nothingToCancel
  let ended: () => void = nothing
  let isBusy = false

  return {
    busy: () => {
      if (isBusy) return
      isBusy = true
      if (drain !== undefined) unregister = atExit(drain)
      if (waitUntil === undefined) return
      const promise = new Promise<void>((resolve) => {
        ended = resolve
      })
      callSafely(waitUntil, promise, failed)
    },
    idle: () => {
      if (!isBusy) return
      isBusy = false
      unregister()
      unregister = nothingToCancel
      ended()
      ended = nothing
    },
  }
}
