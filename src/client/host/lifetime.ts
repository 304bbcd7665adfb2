import { nothingToCancel } from '../../sink/layer.ts'
import { systemClock } from '../../core/clock.ts'
import type { Cancel } from '../../core/clock.ts'
import { isolate } from '../../log/listeners.ts'
import { atExit } from './atExit.ts'

/** What a lifetime works with. */
export interface LifetimeOptions {
  readonly waitUntil: ((ended: Promise<unknown>) => void) | undefined
  /** Is called when the program has nothing else left to do and something waits here; undefined: let it go. */
  readonly drain: (() => void) | undefined
  /** Is told what `waitUntil` threw. */
  readonly defect: (error: unknown) => void
}

/** What binds a client to its process. */
export interface Lifetime {
  /** A message was accepted. */
  readonly busy: () => void
  /** Nothing waits any more that will end. */
  readonly idle: () => void
  /** Keeps the process alive until the promise is settled, for its timers and sockets do not. */
  readonly held: <T>(promise: Promise<T>) => Promise<T>
  /** The same until it is undone. */
  readonly hold: () => Cancel
}

/** Longer than anybody waits; it is cancelled long before. */
const FOR_EVER = 2_147_483_647

const nothing = (): void => undefined

/**
 * Binds a client to its process only as long as it has something in keeping: an idle client has no listener, holds nothing and can
 * be forgotten (CL7).
 */
export const lifetime = ({ waitUntil, drain, defect }: LifetimeOptions): Lifetime => {
  let unregister: Cancel = nothingToCancel
  let ended: () => void = nothing
  let isBusy = false

  const hold = (): Cancel => systemClock.schedule(FOR_EVER, nothing)

  return {
    busy: () => {
      if (isBusy) return
      isBusy = true
      if (drain !== undefined) unregister = atExit(drain)
      if (waitUntil === undefined) return
      const promise = new Promise<void>((resolve) => {
        ended = resolve
      })
      isolate(waitUntil, promise, defect)
    },
    idle: () => {
      isBusy = false
      unregister()
      unregister = nothingToCancel
      ended()
      ended = nothing
    },
    held: (promise) => {
      const release = hold()
      void promise.then(release, release)
      return promise
    },
    hold,
  }
}
