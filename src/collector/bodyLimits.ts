import type { Clock } from '../core/clock.ts'
import { closing, tooLong, tooManyUploads, tooSlow } from './answers.ts'
import type { Answer } from './answers.ts'

/** A request body that is being received. */
export interface Upload {
  /** Takes a chunk. The answer is there if it is too much, for this body or for all together. */
  readonly add: (chunk: Uint8Array) => Answer | undefined
  /** The body so far. */
  readonly bytes: () => Uint8Array
  /** It is complete, or given up. True once. */
  readonly end: () => boolean
}

/** All request bodies that are being received. */
export interface Uploads {
  /** Starts one. If it does not end in time, or the collector closes, it is ended and `onCut` is called. */
  readonly begin: (onCut: (answer: Answer) => void) => Upload
  /** Cuts all. */
  readonly close: () => void
}

/** What an empty chunk counts: a broken stream could have any number of them. */
const EMPTY_CHUNK = 100

/** Each body may take `timeout` milliseconds and have `maxBatch` bytes, and all of them together `maxBytes`. */
export const uploads = (clock: Clock, timeout: number, maxBatch: number, maxBytes: number): Uploads => {
  const running = new Set<(answer: Answer) => void>()
  const long = tooLong(maxBatch)
  let total = 0

  return {
    begin: (onCut) => {
      const chunks: Uint8Array[] = []
      let size = 0
      const end = (): boolean => {
        if (!running.delete(cut)) return false
        cancelTimer()
        total -= size
        return true
      }
      const cut = (answer: Answer): void => {
        if (end()) onCut(answer)
      }
      const cancelTimer = clock.schedule(timeout, () => cut(tooSlow))
      running.add(cut)
      return {
        add: (chunk) => {
          if (!running.has(cut)) return closing
          const bytes = chunk.length === 0 ? EMPTY_CHUNK : chunk.length
          chunks.push(chunk)
          size += bytes
          total += bytes
          if (size > maxBatch) return long
          return total > maxBytes ? tooManyUploads : undefined
        },
        bytes: () => {
          const [first] = chunks
          return first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks)
        },
        end,
      }
    },
    close: () => {
      for (const cut of [...running]) cut(closing)
    },
  }
}
