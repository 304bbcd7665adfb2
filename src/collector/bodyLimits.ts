import { isUint8Array } from 'node:util/types'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Cancel, Clock } from '../core/clock.ts'
import { brokenOff, closing, notBytes, tooLong, tooManyUploads, tooSlow } from './answers.ts'
import type { Answer } from './answers.ts'

/** The next chunk of a body. */
type Next = () => Promise<{ readonly done?: boolean | undefined; readonly value?: unknown }>

/** All request bodies that are being received. */
export interface BodyLimits {
  /** A complete body, or the answer as soon as it is known. `stop` is called when nothing more is read. Never rejects. */
  readonly read: (next: Next, stop: () => unknown) => Promise<Either<Answer, Uint8Array>>
  /** Calls `onCut` after the time that a body may take, or when the collector closes. */
  readonly begin: (onCut: (answer: Answer) => void) => Cancel
  /** Cuts all. */
  readonly close: () => void
}

/** What an empty chunk counts: a broken stream could have any number of them. */
const EMPTY_CHUNK = 100

/** Each body may take `timeout` milliseconds and have `maxBatch` bytes, and all of them together `maxBytes`. */
export const bodyLimits = (clock: Clock, timeout: number, maxBatch: number, maxBytes: number): BodyLimits => {
  const running = new Set<(answer: Answer) => void>()
  let total = 0

  const begin = (onCut: (answer: Answer) => void): Cancel => {
    const end = (): void => {
      running.delete(cut)
      cancelTimer()
    }
    const cut = (answer: Answer): void => {
      end()
      onCut(answer)
    }
    const cancelTimer = clock.schedule(timeout, () => cut(tooSlow))
    running.add(cut)
    return end
  }

  return {
    begin,
    read: async (next, stop) => {
      const chunks: Uint8Array[] = []
      let size = 0
      let end: Cancel = () => undefined
      const cut = new Promise<Answer>((resolve) => {
        end = begin(resolve)
      })
      try {
        for (;;) {
          const chunk = await Promise.race([next(), cut])
          if ('status' in chunk) return left(chunk)
          if (chunk.done === true) return right(Buffer.concat(chunks))
          if (!isUint8Array(chunk.value)) return left(notBytes)
          const bytes = chunk.value.length === 0 ? EMPTY_CHUNK : chunk.value.length
          chunks.push(chunk.value)
          size += bytes
          total += bytes
          if (size > maxBatch) return left(tooLong(maxBatch))
          if (total > maxBytes) return left(tooManyUploads)
        }
      } catch {
        return left(brokenOff)
      } finally {
        end()
        total -= size
        Promise.resolve(stop()).catch(() => undefined)
      }
    },
    close: () => {
      for (const cut of [...running]) cut(closing)
    },
  }
}
