/**
 * The outbox that keeps everything in memory: fast, bounded, gone with the process.
 *
 * @module
 */
import { left, right } from 'fp-ts/lib/Either.js'
import { heap } from '../internal/Heap.ts'
import { ring } from '../internal/Ring.ts'
import { isDead } from '../outcome/Outcome.ts'
import { full } from '../outcome/Refusal.ts'
import type { DeadLetter, Entry, Outbox } from '../sink/Outbox.ts'

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
 * @example
 * import { memoryOutbox } from 'headrace'
 *
 * const outbox = memoryOutbox<string>({ maxCount: 2 })
 * outbox.append('a')
 * outbox.append('b')
 * console.log(outbox.append('c')) // => { _tag: 'Left', left: { _tag: 'Full', bound: 'count', limit: 2, input: 'c' } }
 */
export const memoryOutbox = <A>({
  maxCount = 100_000,
  maxBytes = 268_435_456,
  sizeOf = byteLengthOf,
  keepDead = 1_000,
}: MemoryOutboxOptions<A> = {}): Outbox<A> => {
  const fresh = ring<Entry<A>>()
  const parked = heap<Entry<A>>()
  let dead: Array<DeadLetter<A>> = []
  let waiting = 0
  let bytes = 0
  let appended = 0

  const enter = (item: A): Entry<A> => {
    const entry: Entry<A> = { id: String(++appended), item, since: undefined, progress: undefined }
    waiting++
    bytes += sizeOf(item)
    fresh.push(entry)
    return entry
  }

  const leave = (entry: Entry<A>): void => {
    waiting--
    bytes -= sizeOf(entry.item)
  }

  const bury = (letter: DeadLetter<A>): void => {
    dead.push(letter)
    // Cut in halves, so that each letter is moved once on average.
    if (dead.length >= 2 * keepDead) dead = dead.slice(-keepDead)
  }
  const kept = (): ReadonlyArray<DeadLetter<A>> => dead.slice(-keepDead)

  return {
    durable: false,
    append: (item) => {
      if (waiting >= maxCount) return left(full(item, 'count', maxCount))
      if (bytes + sizeOf(item) > maxBytes) return left(full(item, 'bytes', maxBytes))
      return right(enter(item))
    },
    take: (now, limit, mostParked) => {
      const taken: Array<Entry<A>> = []
      const parkedLimit = Math.min(limit, mostParked)
      while (taken.length < parkedLimit && (parked.peekKey() ?? Infinity) <= now) {
        const entry = parked.pop()
        if (entry !== undefined) taken.push(entry)
      }
      while (taken.length < limit) {
        const entry = fresh.shift()
        if (entry === undefined) break
        taken.push(entry)
      }
      return taken
    },
    park: (entry, due) => {
      parked.push(due, entry)
    },
    end: (entry, outcome) => {
      leave(entry)
      if (isDead(outcome) && keepDead > 0) bury({ entry, outcome })
    },
    nextDue: () => (fresh.size() > 0 ? 0 : parked.peekKey()),
    abandon: () => {
      const all = [...parked.drain(), ...fresh.drain()]
      for (const entry of all) leave(entry)
      return all
    },
    dead: {
      list: kept,
      redrive: (matches) => {
        const again = kept().filter(matches)
        dead = kept().filter((letter) => !again.includes(letter))
        for (const letter of again) enter(letter.entry.item)
        return again.length
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
