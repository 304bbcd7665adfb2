import type { Cancel, Clock } from '../../clock/Clock.ts'

/** What a writer works with. */
export interface WritingOptions {
  /** Writes what there is to write, within one transaction; fulfilled when it has been synced. */
  readonly write: () => Promise<void>
  readonly written: () => void
  readonly defect: (error: unknown) => void
  readonly clock: Clock
}

/** One who writes, again and again for as long as there is more. */
export interface Writing {
  /** There is something to write. */
  readonly more: () => void
  /** Within a transaction: whether all that there is goes into it. */
  readonly writesAll: (isAll: boolean) => void
  /** Resolves when the transaction under way has ended, well or badly; at once if there is none. */
  readonly afterThis: () => Promise<void>
  /** Resolves with true when all that there is now has been written, and with false when it was stopped before. */
  readonly whenWritten: () => Promise<boolean>
  readonly stop: () => void
}

/** A disk that failed is asked again after so many milliseconds. */
const ASK_AGAIN_AFTER = 1_000

/** Writes what comes in, one transaction after the other, and tries again what failed. */
export const writing = ({ write, written, defect, clock }: WritingOptions): Writing => {
  let isDirty = false
  let running: Promise<void> | undefined
  let pause: Cancel | undefined
  let stopped = false
  let waiters: ReadonlyArray<(isWritten: boolean) => void> = []
  /** So many of those who wait are served by the transaction under way. */
  let served = 0

  const release = (some: typeof waiters, isWritten: boolean): void => {
    for (const tell of some) tell(isWritten)
  }

  const once = async (): Promise<void> => {
    isDirty = false
    served = 0
    try {
      await write()
    } catch (error) {
      isDirty = true
      defect(error)
      if (!stopped)
        pause = clock.schedule(ASK_AGAIN_AFTER, () => {
          pause = undefined
          go()
        })
      return
    }
    const done = waiters.slice(0, served)
    waiters = waiters.slice(served)
    written()
    release(done, true)
  }

  const run = async (): Promise<void> => {
    // A turn later, so that all that is accepted in this one goes into the same transaction.
    await Promise.resolve()
    while (isDirty && pause === undefined && !stopped) await once()
    running = undefined
  }

  const go = (): void => {
    if (isDirty && pause === undefined && !stopped) running ??= run()
  }

  return {
    more: () => {
      isDirty = true
      go()
    },
    writesAll: (isAll) => {
      if (isAll) served = waiters.length
      else isDirty = true
    },
    afterThis: () => running ?? Promise.resolve(),
    whenWritten: () => {
      if (stopped) return Promise.resolve(!isDirty)
      if (!isDirty && running === undefined) return Promise.resolve(true)
      isDirty = true
      go()
      return new Promise((resolve) => {
        waiters = [...waiters, resolve]
      })
    },
    stop: () => {
      stopped = true
      pause?.()
      pause = undefined
      release(waiters, false)
      waiters = []
    },
  }
}
