/**
 * The outbox that keeps everything in memory: fast, bounded, gone with the process.
 *
 * @module
 */

import { left, right } from 'fp-ts/lib/Either.js'
import { steady, systemClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import { heap } from '../core/heap.ts'
import { wholeNumber } from '../core/json.ts'
import { isDead } from '../core/outcome.ts'
import type { Outcome } from '../core/outcome.ts'
import { queue } from '../core/queue.ts'
import { full } from '../core/refusal.ts'
import { DEAD_PAGE } from './outbox.ts'
import type { Entry, DeadLetter, Outbox } from './outbox.ts'

/** Entries that wait in memory: the new ones in the order of their coming, the parked ones by due time. */
export interface WaitingLine<A> {
  readonly enter: (entry: Entry<A>) => void
  readonly park: (entry: Entry<A>, due: number) => void
  /** As `Outbox.take` says. */
  readonly take: (now: number, limit: number, mostParked: number) => ReadonlyArray<Entry<A>>
  /** As `Outbox.nextDue` says. */
  readonly nextDue: () => number | undefined
  /** Takes out all that match. */
  readonly withdraw: (matches: (entry: Entry<A>) => boolean) => ReadonlyArray<Entry<A>>
  /** Takes out everything: first what was parked, then the new ones in their order. */
  readonly drain: () => ReadonlyArray<Entry<A>>
}

/** An empty line. Enter and take are O(1) for each entry, park is O(log n), and withdraw is O(n). */
export const waitingLine = <A>(): WaitingLine<A> => {
  const fresh = queue<Entry<A>>()
  const parked = heap<Entry<A>>()

  return {
    enter: fresh.push,
    park: (entry, due) => {
      parked.push(due, entry)
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
    nextDue: () => (fresh.size() > 0 ? 0 : parked.peekKey()),
    withdraw: (matches) => {
      const gone = [...parked.remove(matches)]
      for (const entry of fresh.drain()) {
        if (matches(entry)) gone.push(entry)
        else fresh.push(entry)
      }
      return gone
    },
    drain: () => [...parked.drain(), ...fresh.drain()],
  }
}

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
    const entry: Entry<A> = { id: String(++appended), item, firstAttemptAt: undefined, progress: undefined }
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
      bury({ id: String(++appended), item, firstAttemptAt: undefined, progress: undefined }, outcome)
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
