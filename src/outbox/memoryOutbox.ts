/**
 * The outbox that keeps everything in memory: fast, bounded, gone with the process.
 *
 * @module
 */
import { left, right } from 'fp-ts/lib/Either.js'
import { steady, systemClock } from '../clock/Clock.ts'
import type { Clock } from '../clock/Clock.ts'
import { isDead } from '../outcome/Outcome.ts'
import type { Outcome } from '../outcome/Outcome.ts'
import { full } from '../outcome/Refusal.ts'
import { wholeNumber } from '../internal/wholeNumber.ts'
import { DEAD_PAGE } from '../sink/Outbox.ts'
import type { DeadLetter, Entry, Outbox } from '../sink/Outbox.ts'
import { waitingLine } from './waitingLine.ts'

/** The bounds of a memory outbox. */
export interface MemoryOutboxOptions<A> {
  /** How many items may wait; default 100,000 (DE9). */
  readonly maxCount?: number
  /** How many bytes may wait, as `sizeOf` counts them; default 268,435,456, that is 256 MiB (DE9). */
  readonly maxBytes?: number
  /** The bytes of an item; default its `byteLength`, which payloads have, and 0 for things that have none. */
  readonly sizeOf?: (item: A) => number
  /** How many dead letters are kept for a second look; the oldest makes room. Default 1,000. */
  readonly keepDead?: number
  /** Says when a letter died; default the machine's clock. */
  readonly clock?: Clock
}

const byteLengthOf = (item: unknown): number =>
  typeof item === 'object' && item !== null && 'byteLength' in item && typeof item.byteLength === 'number'
    ? item.byteLength
    : 0

const done: Promise<void> = Promise.resolve()

/**
 * An outbox in memory. Append and take are O(1), park is O(log n); a waiting entry costs about 100 bytes beside its item.
 * Everything it holds is lost with the process, so close the pipeline before you exit.
 *
 * @throws RangeError when `maxCount` or `maxBytes` is not a whole number from 1, or `keepDead` one from 0.
 *
 * @example
 * import { memoryOutbox } from 'headrace'
 *
 * const outbox = memoryOutbox<string>({ maxCount: 2 })
 * outbox.append('a')
 * outbox.append('b')
 * console.log(outbox.append('c')) // => { _tag: 'Left', left: { _tag: 'Full', bound: 'count', limit: 2, input: 'c' } }
 */
export const memoryOutbox = <A>(options: MemoryOutboxOptions<A> = {}): Outbox<A> => {
  const maxCount = wholeNumber('memoryOutbox: maxCount', 'items', 1, options.maxCount ?? 100_000)
  const maxBytes = wholeNumber('memoryOutbox: maxBytes', 'bytes', 1, options.maxBytes ?? 268_435_456)
  const keepDead = wholeNumber('memoryOutbox: keepDead', 'items', 0, options.keepDead ?? 1_000)
  const { sizeOf = byteLengthOf, clock = systemClock } = options
  const line = waitingLine<A>()
  let dead: Array<DeadLetter<A>> = []
  let waiting = 0
  let bytes = 0
  let appended = 0
  let died = 0

  const boundFor = (item: A): 'count' | 'bytes' | undefined => {
    if (waiting >= maxCount) return 'count'
    return bytes + sizeOf(item) > maxBytes ? 'bytes' : undefined
  }

  const enter = (item: A): Entry<A> => {
    const entry: Entry<A> = { id: String(++appended), item, since: undefined, progress: undefined }
    waiting++
    bytes += sizeOf(item)
    line.enter(entry)
    return entry
  }

  const leave = (entry: Entry<A>): void => {
    waiting--
    bytes -= sizeOf(entry.item)
  }

  const bury = (entry: Entry<A>, outcome: Outcome<A>): void => {
    if (keepDead === 0) return
    dead.push({ id: String(++died), at: steady(clock)(), entry, outcome })
    // Cut in halves, so that each letter is moved once on average.
    if (dead.length >= 2 * keepDead) dead = dead.slice(-keepDead)
  }
  const kept = (): ReadonlyArray<DeadLetter<A>> => dead.slice(-keepDead)

  return {
    durable: false,
    append: (item) => {
      const bound = boundFor(item)
      if (bound === undefined) return right(enter(item))
      return left(full(item, bound, bound === 'count' ? maxCount : maxBytes))
    },
    take: line.take,
    park: line.park,
    end: (entry, outcome) => {
      leave(entry)
      if (isDead(outcome)) bury(entry, outcome)
    },
    bury: (item, outcome) => {
      bury({ id: String(++appended), item, since: undefined, progress: undefined }, outcome)
    },
    nextDue: line.nextDue,
    abandon: () => {
      const all = line.drain()
      for (const entry of all) leave(entry)
      return all
    },
    dead: {
      list: ({ after = '0', limit = DEAD_PAGE } = {}) =>
        // Ids are numbers that only grow, so the place after one that is gone is known too.
        kept()
          .filter(({ id }) => Number(id) > Number(after))
          .slice(0, limit),
      redrive: (matches) => {
        const wanted = new Set(kept().filter(matches))
        let count = 0
        // What there is no room for stays dead: nothing is lost by asking again later.
        dead = kept().filter((letter) => {
          if (!wanted.has(letter) || boundFor(letter.entry.item) !== undefined) return true
          enter(letter.entry.item)
          count++
          return false
        })
        return count
      },
      purge: (matches) => {
        const before = kept()
        dead = before.filter((letter) => !matches(letter))
        return before.length - dead.length
      },
    },
    stats: () => ({ waiting, bytes, dead: Math.min(dead.length, keepDead), maxCount, maxBytes }),
    close: () => done,
  }
}
