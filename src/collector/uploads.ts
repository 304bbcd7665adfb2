import type { Clock } from '../core/clock.ts'

/** A request body that is being received. */
export interface Upload {
  /** Counts more bytes. False if all uploads together have too many now, and for what is not a number of bytes. */
  readonly add: (bytes: number) => boolean
  /** Its bytes were dropped. Its time goes on. */
  readonly drop: () => void
  /** It is complete, or given up. */
  readonly end: () => void
}

/** All request bodies that are being received. */
export interface Uploads {
  /** Starts one. Unless it ends in time, `cut` is called, once. */
  readonly begin: (cut: (why: 'late' | 'closing') => void) => Upload
  /** Cuts all. */
  readonly close: () => void
}

/** Each upload may take `timeout` milliseconds, and all of them together `maxBytes`. */
export const uploads = (clock: Clock, timeout: number, maxBytes: number): Uploads => {
  const running = new Set<() => void>()
  let total = 0

  return {
    begin: (cut) => {
      let bytes = 0
      const drop = (): void => {
        total -= bytes
        bytes = 0
      }
      const end = (): void => {
        if (!running.delete(close)) return
        cancel()
        drop()
      }
      const close = (): void => {
        end()
        cut('closing')
      }
      const cancel = clock.schedule(timeout, () => {
        end()
        cut('late')
      })
      running.add(close)
      return {
        add: (more) => {
          // A value that is no number would stay in the sum for ever.
          if (!running.has(close) || !Number.isSafeInteger(more) || more < 0) return false
          bytes += more
          total += more
          return total <= maxBytes
        },
        drop,
        end,
      }
    },
    close: () => {
      for (const close of [...running]) close()
    },
  }
}
