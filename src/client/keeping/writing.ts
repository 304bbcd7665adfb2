import type { Cancel, Clock } from '../../core/clock.ts'

/** What a writer works with. */
export interface WritingOptions {
  /** Writes what there is to write, within one transaction; fulfilled when it has been synced. */
  readonly write: () => Promise<void>
  readonly written: () => void
  /** Nothing was written, and nothing is being written until it is tried again. */
  readonly failed: (error: unknown) => void
  readonly clock: Clock
}

/** One who writes, again and again for as long as there is more. */
export interface Writing {
  /** There is something to write. */
  readonly more: () => void
  /** Within a transaction: all that there is goes into it. */
  readonly takesAll: () => void
  /** Resolves when the transaction under way, or about to begin, has ended, well or badly; undefined if there is none. */
  readonly afterThis: () => Promise<void> | undefined
  /** Whether the last transaction failed, and none is under way. */
  readonly isDown: () => boolean
  /** Begins no transaction any more. */
  readonly stop: () => void
}

/** A disk that failed is asked again after so many milliseconds. */
const ASK_AGAIN_AFTER = 1_000

/** Writes what comes in, one transaction after the other, and tries again what failed. */
export const writing = ({ write, written, failed, clock }: WritingOptions): Writing => {
  /** How often it was told that there is more, and up to which of these all is in the transaction under way, or on the disk. */
  let asked = 0
  let taken = 0
  let kept = 0
  let current: Promise<void> | undefined
  let pause: Cancel | undefined
  let stopped = false

  const rest = (): void => {
    if (stopped) return
    pause = clock.schedule(ASK_AGAIN_AFTER, () => {
      pause = undefined
      go()
    })
  }

  const transact = async (): Promise<void> => {
    taken = kept
    try {
      await write()
    } catch (error) {
      current = undefined
      rest()
      failed(error)
      return
    }
    current = undefined
    kept = taken
    written()
  }

  const once = async (): Promise<void> => {
    // A turn later, so that all that is accepted in this one goes into the same transaction.
    await Promise.resolve()
    if (stopped) current = undefined
    else await transact()
    go()
  }

  const go = (): void => {
    if (asked > kept && pause === undefined && !stopped) current ??= once()
  }

  return {
    more: () => {
      asked++
      go()
    },
    takesAll: () => {
      taken = asked
    },
    afterThis: () => current,
    isDown: () => pause !== undefined,
    stop: () => {
      stopped = true
      pause?.()
      pause = undefined
    },
  }
}
