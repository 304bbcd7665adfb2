/** The outbox in memory: fast, bounded, gone with the process. @module */
import { isRight, left, right, type Either } from '../core/either.ts'
import { fullIn, type Full } from '../core/refusal.ts'
import { steady, systemClock, type Clock } from '../core/clock.ts'
import { heap } from '../core/heap.ts'
import { isRecord } from '../core/json.ts'
import { checkOptions, strict, wholeNumber, withDefault } from '../core/options.ts'
import { isDead, type Outcome } from '../core/outcome.ts'
import { queue } from '../core/queue.ts'
import { DEAD_PAGE, inUse, newEntry, type EndedDeadLetter, type Entry, type Outbox } from './outbox.ts'

/** The bounds of a memory outbox. */
export interface MemoryOutboxOptions<A> {
  /** The maximum number of items. Default 100,000. */
  readonly maxCount?: number
  /** The maximum number of bytes, as `sizeOf` counts them. Default 268,435,456 (256 MiB). */
  readonly maxBytes?: number
  /** The bytes of an item. Default its `byteLength`, or 0 if it has none. */
  readonly sizeOf?: (item: A) => number
  /** The maximum number of dead letters, beside 32 MiB by `sizeOf`; the oldest goes first. Default 1,000. */
  readonly keepDead?: number
  /** Dates the dead letters. Default the system clock. */
  readonly clock?: Clock
}

/** The `byteLength` of an item, or 0 if it has none. */
export const byteLengthOf = (item: unknown): number =>
  isRecord(item) && typeof item['byteLength'] === 'number' ? item['byteLength'] : 0

const bounds = strict({
  maxCount: withDefault(wholeNumber('items', 1), 100_000),
  maxBytes: withDefault(wholeNumber('bytes', 1), 268_435_456),
  keepDead: withDefault(wholeNumber('items', 0), 1_000),
})

const MAX_DEAD_BYTES = 33_554_432

/**
 * An outbox in memory. `enqueue`, `lease` and `ack` are O(1) for each entry, `nack` is O(log n); a waiting
 * item takes about 20 bytes more, and 150 after an attempt. Everything is lost with the process, so close
 * the pipeline before you exit.
 *
 * @throws ConfigError when `maxCount` or `maxBytes` is not a whole number from 1, or `keepDead` not one
 * from 0.
 *
 * @example
 * import { memoryOutbox } from 'headrace/outbox'
 *
 * const outbox = memoryOutbox<string>({ maxCount: 2 })
 * const [, , third] = await outbox.enqueue(['a', 'b', 'c'])
 * console.log(third) // => { _tag: 'Left', left: { _tag: 'Full', bound: 'count', limit: 2, input: 'c' } }
 */
export const memoryOutbox = <A>(options: MemoryOutboxOptions<A> = {}): Outbox<A> => {
  const { sizeOf = byteLengthOf, clock = systemClock, ...given } = options
  const { keepDead, ...limits } = checkOptions('memoryOutbox options', bounds, given)
  /** New items, without the 80 bytes of their entries. Their ids follow each other, and end with `lastId`. */
  const fresh = queue<A>()
  const retries = heap<Entry<A>>()
  const dead = new Set<EndedDeadLetter<A>>()
  let deadBytes = 0
  let evictedDeadLetters = 0
  let waiting = 0
  let bytes = 0
  let lastId = 0
  let lastDeadId = 0

  /** 0 if `sizeOf` fails now: the item must be able to end. */
  const heldBy = (item: A): number => {
    try {
      return Math.max(0, sizeOf(item)) || 0
    } catch {
      return 0
    }
  }

  const add = (item: A): Either<Full, Entry<A>> => {
    const size = sizeOf(item)
    if (!(size >= 0 && size < Infinity)) throw new TypeError('sizeOf must answer a number from 0')
    const full = fullIn(item, waiting, bytes + size, limits)
    if (full !== undefined) return left(full)
    waiting++
    bytes += size
    fresh.push(item)
    return right(newEntry(String(++lastId), item))
  }
  const nextFresh = (): Entry<A> | undefined => {
    if (fresh.size() === 0) return undefined
    const id = String(lastId - fresh.size() + 1)
    // There is one.
    return newEntry(id, fresh.shift() as A)
  }

  const addDead = (entry: Entry<A>, outcome: Outcome<A>): void => {
    if (keepDead === 0) return
    dead.add({ reason: 'ended', id: String(++lastDeadId), at: steady(clock)(), entry, outcome })
    deadBytes += heldBy(entry.item)
    for (const oldest of dead) {
      if (dead.size <= keepDead && deadBytes <= MAX_DEAD_BYTES) break
      removeDead(oldest)
      evictedDeadLetters++
    }
  }
  const removeDead = (deadLetter: EndedDeadLetter<A>): void => {
    dead.delete(deadLetter)
    deadBytes -= heldBy(deadLetter.entry.item)
  }

  const leave = (item: A): void => {
    waiting--
    bytes = waiting === 0 ? 0 : bytes - heldBy(item)
  }

  const outbox: Outbox<A> = {
    keeps: () => false,
    enqueue: (items) => items.map(add),
    lease: (now, limits) => {
      const leased = retries.take(now, Math.min(limits.count, limits.retries))
      while (leased.length < limits.count && limits.retriesOnly !== true) {
        const entry = nextFresh()
        if (entry === undefined) break
        leased.push(entry)
      }
      return leased
    },
    nack: (list) => list.forEach(({ entry, due }) => retries.push(due, entry)),
    ack: (list) => {
      for (const { entry, outcome } of list) {
        leave(entry.item)
        if (isDead(outcome)) addDead(entry, outcome)
      }
    },
    // Ids of waiting items follow each other, so this is none of them.
    addDeadLetter: (item, outcome) => addDead(newEntry(`d${String(lastDeadId + 1)}`, item), outcome),
    nextDue: (only) => (fresh.size() > 0 && only !== true ? 0 : retries.peekKey()),
    takeRemaining: () => {
      const all = [...retries.drain()]
      for (let entry = nextFresh(); entry !== undefined; entry = nextFresh()) all.push(entry)
      for (const { item } of all) leave(item)
      return all
    },
    dead: {
      // Ids only grow, so the position of a deleted one is known too.
      list: ({ after = '0', limit = DEAD_PAGE } = {}) =>
        [...dead].filter(({ id }) => Number(id) > Number(after)).slice(0, limit),
      redrive: (matches) => {
        const moved = [...dead].filter(matches).filter(({ entry }) => isRight(add(entry.item)))
        moved.forEach(removeDead)
        inUse.get(outbox)?.()
        return moved.map(({ id }) => id)
      },
      purge: (matches) => {
        const matching = [...dead].filter(matches)
        matching.forEach(removeDead)
        return matching.length
      },
    },
    stats: () => ({ waiting, bytes, dead: dead.size, evictedDeadLetters, ...limits }),
    close: () => Promise.resolve(),
  }
  return outbox
}
