import type { Cancel, Clock } from '../core/clock.ts'
import { linkedList } from '../core/linkedList.ts'
import type { Link } from '../core/linkedList.ts'

/** Why a body is not waited for any more. */
export type Cut = 'late' | 'closing'

/** A body that comes. */
export interface Upload {
  /** So many more bytes have come. False if all uploads together hold too much now, and for what is no number of bytes. */
  readonly hold: (bytes: number) => boolean
  /** What has come is not kept, and what comes will not be; its time goes on. */
  readonly letGo: () => void
  /** It is here whole, or it will never be. */
  readonly end: () => void
}

/** All bodies that come. */
export interface Uploads {
  /** One begins. Unless it ends in time, `cut` is called, once. */
  readonly begin: (cut: (why: Cut) => void) => Upload
  /** Cuts all. */
  readonly close: () => void
}

interface Running extends Link<Running> {
  readonly start: number
  readonly cut: (why: Cut) => void
  bytes: number
  ended: boolean
}

/**
 * Gives each body `within` milliseconds, and all of them together `most` bytes. All have the same time, so who began first is due first: one
 * timer, set for the oldest, is exact. Nothing comes, no timer.
 */
export const uploads = (clock: Clock, within: number, most: number): Uploads => {
  const running = linkedList<Running>()
  let held = 0
  let disarm: Cancel | undefined

  const arm = (): void => {
    const oldest = running.oldest()
    if (disarm !== undefined || oldest === undefined) return
    disarm = clock.schedule(within - (clock.monotonic() - oldest.start), sweep)
  }

  const letGo = (each: Running): void => {
    held -= each.bytes
    each.bytes = 0
  }

  const end = (each: Running): void => {
    if (each.ended) return
    each.ended = true
    letGo(each)
    running.remove(each)
    if (running.size() > 0 || disarm === undefined) return
    disarm()
    disarm = undefined
  }

  const sweep = (): void => {
    disarm = undefined
    for (let each = running.oldest(); each !== undefined; each = running.oldest()) {
      if (clock.monotonic() - each.start < within) break
      end(each)
      each.cut('late')
    }
    arm()
  }

  return {
    begin: (cut) => {
      const each: Running = {
        older: undefined,
        newer: undefined,
        start: clock.monotonic(),
        cut,
        bytes: 0,
        ended: false,
      }
      running.push(each)
      arm()
      return {
        hold: (bytes) => {
          // What is no number would stay in the sum for ever.
          if (each.ended || !Number.isSafeInteger(bytes) || bytes < 0) return false
          each.bytes += bytes
          held += bytes
          return held <= most
        },
        letGo: () => {
          letGo(each)
        },
        end: () => {
          end(each)
        },
      }
    },
    close: () => {
      for (let each = running.oldest(); each !== undefined; each = running.oldest()) {
        end(each)
        each.cut('closing')
      }
    },
  }
}
