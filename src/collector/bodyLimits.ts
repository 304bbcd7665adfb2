import { isUint8Array } from 'node:util/types'
import type { Observer } from 'rxjs'
import { constVoid, left, right, type Either } from '../core/either.ts'
import { byteBuffer } from '../core/byteBuffer.ts'
import type { Cancel, Clock } from '../core/clock.ts'
import { brokenOff, closing, notBytes, tooLong, tooManyUploads, tooSlow, type Answer } from './answers.ts'

export type BodyLimits = ReturnType<typeof bodyLimits>

/** The bytes that an empty chunk counts: a broken stream could have any number of them. */
const EMPTY_CHUNK = 100

/** What the requests that have no answer yet hold in memory, at most `maxBytes`. One alone has room. */
export const memoryShares = (maxBytes: number) => {
  let total = 0

  return () => {
    let own = 0
    /** Counts bytes, which may be below 0. Answers whether there is room for them. */
    const take = (bytes: number): boolean => {
      own += bytes
      total += bytes
      return total <= maxBytes || total === own
    }
    return { take, end: () => take(-own) }
  }
}

export type MemoryShare = ReturnType<ReturnType<typeof memoryShares>>

/** Each body may take `timeout` milliseconds and have `maxBody` bytes. */
export const bodyLimits = (clock: Clock, timeout: number, maxBody: number) => {
  const running = new Set<(answer: Answer) => void>()

  /** Calls `onCut` after the time that a body may take, or when the collector closes. */
  const begin = (onCut: (answer: Answer) => void): Cancel => {
    const end = (): void => {
      running.delete(cut)
      cancelTimer()
    }
    const cut = (answer: Answer): void => {
      end()
      onCut(answer)
    }
    const cancelTimer = clock.schedule(timeout, () => cut(tooSlow), { holds: false })
    running.add(cut)
    return end
  }

  return {
    begin,
    /**
     * A complete body, or the answer as soon as it is known. Rejects with what `start` throws, which reads in
     * chunks, never synchronously. Its teardown runs once nothing more is wanted. Its bytes stay in `share`.
     */
    read: (share: MemoryShare, start: (observer: Observer<unknown>) => Cancel) =>
      new Promise<Either<Answer, Uint8Array>>((resolve) => {
        const body = byteBuffer()
        let counted = 0
        let isDone = false
        let stop: Cancel = constVoid
        const finish = (result: Either<Answer, Uint8Array>): void => {
          if (isDone) return
          isDone = true
          end()
          stop()
          resolve(result)
        }
        const end = begin((answer) => finish(left(answer)))
        const observer: Observer<unknown> = {
          next: (chunk) => {
            if (isDone) return
            if (!isUint8Array(chunk)) return finish(left(notBytes))
            body.add(chunk)
            const bytes = chunk.length === 0 ? EMPTY_CHUNK : chunk.length
            counted += bytes
            if (counted > maxBody) finish(left(tooLong(maxBody)))
            else if (!share.take(bytes)) finish(left(tooManyUploads))
          },
          complete: () => finish(right(body.bytes())),
          error: () => finish(left(brokenOff)),
        }
        try {
          stop = start(observer)
        } catch (error) {
          end()
          throw error
        }
      }),
    close: (): void => [...running].forEach((cut) => cut(closing)),
  }
}
