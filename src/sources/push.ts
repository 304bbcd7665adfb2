/** `headrace/sources/push`: a bounded source that a program pushes into. @module */
import { left, right, type Either } from '../core/either.ts'
import { fullIn, closed, tooLarge, type Closed, type Full, type TooLarge } from '../core/refusal.ts'
import { systemClock, type Clock } from '../core/clock.ts'
import { checkOptions, clockOption, func, oneOf, optional, strict } from '../core/options.ts'
import { wholeNumber, withDefault } from '../core/options.ts'
import { abandoned, dropped, type Abandoned, type Dropped } from '../core/outcome.ts'
import { queue } from '../core/queue.ts'
import { callSafely, listeners } from '../log/listeners.ts'
import type { Listener } from '../log/logEvent.ts'
import { waitForRoom } from './waitForRoom.ts'

/** The bounds of a push source, and its overflow. */
export interface PushOptions<T> {
  /** Items that may wait. Default 10,000. */
  readonly maxCount?: number
  /** Bytes that may wait, as `sizeOf` counts them. Default 32 MiB. Without `sizeOf` nothing is counted. */
  readonly maxBytes?: number
  /** The bytes of an item, 0 or more. */
  readonly sizeOf?: (item: T) => number
  /**
   * The policy for a full queue: `error` refuses the new item, `dropNewest` accepts and drops it,
   * `dropOldest` drops the oldest waiting item. Default `error`.
   */
  readonly overflow?: 'error' | 'dropNewest' | 'dropOldest'
  /** Receives each accepted item without a reader: it was dropped, or it waited when the reader stopped. */
  readonly onDropped?: (outcome: Dropped<T> | Abandoned<T>) => void
  /** Receives a `Defect` when `onDropped` throws; the debug log and the channels do too. */
  readonly onEvent?: Listener
  readonly clock?: Clock
}

/** Why an item was not accepted. */
export type NotTaken = Full | TooLarge | Closed

/** accepted = taken + dropped + abandoned + waiting, at every moment. */
export interface PushStats {
  readonly accepted: number
  /** Given to the reader. */
  readonly taken: number
  readonly dropped: number
  /** Waited when the reader stopped. */
  readonly abandoned: number
  readonly waiting: number
  /** Bytes that wait, as `sizeOf` counts them. */
  readonly bytes: number
  /** Answered with a refusal, and not accepted. */
  readonly refused: number
}

/** A source that is pushed into. It is read once. */
export interface Push<T> extends AsyncIterable<T, undefined, undefined> {
  /** Accepts an item, or answers why not. An item above `maxBytes` is `TooLarge`: it would never fit. */
  readonly offer: (item: T) => Either<NotTaken, void>
  /**
   * Resolves when there is room, in the order of the calls; at once after the end. The room is not reserved:
   * offer without awaiting anything in between, and wait again if the answer is `Full`.
   */
  readonly ready: () => Promise<void>
  /** Accepts nothing more. The reader still gets the waiting items, and then the source is done. */
  readonly end: () => void
  /** The counters, as they are now. */
  readonly stats: () => PushStats
}

const pushOptions = strict({
  maxCount: withDefault(wholeNumber('items', 1), 10_000),
  maxBytes: withDefault(wholeNumber('bytes', 1), 32 * 1024 * 1024),
  sizeOf: optional(func()),
  overflow: withDefault(oneOf('error', 'dropNewest', 'dropOldest'), 'error'),
  onDropped: optional(func()),
  onEvent: optional(func<Listener>()),
  clock: withDefault(clockOption, systemClock),
})

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }
const TAKEN: Either<never, void> = right(undefined)

/**
 * A bounded queue between code that calls and a pipeline that pulls: the entry for events from a host's own
 * code. RxJS has no backpressure, so a `Subject` would queue without bound; `pull(source, pipeline)` reads
 * this queue only as fast as the pipeline ends its items.
 *
 * @throws ConfigError if an option is wrong or unknown.
 *
 * @example
 * import { push } from 'headrace/sources/push'
 *
 * const clicks = push<string>({ maxCount: 2 })
 * clicks.offer('a')
 * clicks.offer('b')
 * console.log(clicks.offer('c')._tag) // => Left
 * // It is full: await clicks.ready().
 * clicks.end()
 * for await (const click of clicks) console.log(click)
 * // => a
 * // => b
 */
export const push = <T>(options: PushOptions<T> = {}): Push<T> => {
  const { maxCount, maxBytes, overflow, onEvent, clock } = checkOptions('push options', pushOptions, options)
  const { sizeOf = () => 0, onDropped } = options
  const tell = listeners({ logger: false, ...(onEvent && { onEvent }) })
  const limits = { maxCount, maxBytes }
  const held = queue<{ readonly item: T; readonly size: number }>()
  const readers = queue<(result: IteratorResult<T, undefined>) => void>()
  const counts = { accepted: 0, taken: 0, dropped: 0, abandoned: 0, refused: 0 }
  let bytes = 0
  let hasEnded = false
  let wasRead = false
  const room = waitForRoom(() => held.size() < maxCount && bytes < maxBytes)

  const fullFor = (item: T, size: number): Full | undefined => fullIn(item, held.size(), bytes + size, limits)

  const serveReaders = (): void => {
    while (readers.size() > 0 && (held.size() > 0 || hasEnded)) {
      const first = held.shift()
      if (first !== undefined) {
        bytes -= first.size
        counts.taken++
      }
      readers.shift()?.(first === undefined ? DONE : { done: false, value: first.item })
    }
  }

  const failed = (error: unknown): void =>
    tell({ _tag: 'Defect', at: clock.now(), from: 'push', where: 'push.onDropped', error })
  const report = (outcome: Dropped<T> | Abandoned<T>): void => {
    if (onDropped !== undefined) callSafely(onDropped, outcome, failed)
  }

  const refuse = (refusal: NotTaken): Either<NotTaken, void> => {
    counts.refused++
    return left(refusal)
  }

  const offer = (item: T): Either<NotTaken, void> => {
    if (hasEnded) return refuse(closed(item))
    const size = sizeOf(item)
    // Written so that NaN is refused too.
    if (!(size >= 0 && size <= maxBytes)) return refuse(tooLarge(item, maxBytes, size, undefined))
    const full = fullFor(item, size)
    if (full !== undefined && overflow === 'error') {
      room.refused(held.size())
      return refuse(full)
    }
    counts.accepted++
    if (full !== undefined && overflow === 'dropNewest') {
      counts.dropped++
      report(dropped(item, 0, 'dropNewest'))
      return TAKEN
    }
    const gone: Array<Dropped<T>> = []
    while (fullFor(item, size) !== undefined) {
      const oldest = held.shift()
      if (oldest === undefined) break
      bytes -= oldest.size
      gone.push(dropped(oldest.item, 0, 'dropOldest'))
    }
    counts.dropped += gone.length
    held.push({ item, size })
    bytes += size
    serveReaders()
    // Last, because the callback may offer again.
    gone.forEach(report)
    return TAKEN
  }

  const end = (): void => {
    hasEnded = true
    room.open()
    serveReaders()
  }

  return {
    offer,
    ready: room.ready,
    end,
    stats: () => ({ ...counts, waiting: held.size(), bytes }),
    [Symbol.asyncIterator]: () => {
      if (wasRead) throw new Error('a push source is read once: share the items that come out of it')
      wasRead = true
      return {
        next: () =>
          new Promise((resolve) => {
            readers.push(resolve)
            serveReaders()
            room.freed()
          }),
        return: () => {
          const rest = held.drain()
          bytes = 0
          counts.abandoned += rest.length
          end()
          for (const { item } of rest) report(abandoned(item, 0, undefined))
          return Promise.resolve(DONE)
        },
      }
    },
  }
}
