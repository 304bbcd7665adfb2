import * as E from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { nextTurn, systemClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import { wholeNumber } from '../core/json.ts'
import { abandoned, dropped } from '../core/outcome.ts'
import type { Abandoned, Dropped } from '../core/outcome.ts'
import { queue } from '../core/queue.ts'
import { closed, full, tooLarge } from '../core/refusal.ts'
import type { Closed, Full, TooLarge } from '../core/refusal.ts'
import { isolate } from '../log/listeners.ts'
import type { Listener } from '../log/logEvent.ts'
import type { OutboxStats } from '../outbox/outbox.ts'

/** Who waits for room, let through in the order in which they came. */
export interface Turnstile {
  /** Resolves when there is room for one more. Then it may be used, and may also be left to the next. */
  readonly pass: () => Promise<void>
  /** To be called when room was made. */
  readonly freed: () => void
  /** To be called when room was used. */
  readonly used: () => void
  /** Lets everybody through, now and for ever. */
  readonly open: () => void
}

/**
 * A turnstile before something that has `room()` for so many more. It lets through no more than there is room for, and as
 * nobody has to use what was offered, it offers what was left over to the next ones, a turn of the event loop later.
 */
export const turnstile = (room: () => number): Turnstile => {
  const waiting = queue<() => void>()
  /** Let through in this turn of the event loop, and not seen to use it yet. */
  let promised = 0
  let turning = false
  let opened = false

  const letThrough = (): void => {
    while (waiting.size() > 0 && (opened || promised < room())) {
      promised++
      waiting.shift()?.()
    }
    if (promised > 0) forgetNextTurn()
  }

  const forgetNextTurn = (): void => {
    if (turning || opened) return
    turning = true
    nextTurn(() => {
      turning = false
      promised = 0
      letThrough()
    })
  }

  return {
    pass: () =>
      new Promise((resolve) => {
        waiting.push(resolve)
        letThrough()
      }),
    freed: letThrough,
    used: () => {
      if (promised > 0) promised--
    },
    open: () => {
      opened = true
      letThrough()
    },
  }
}

/** A turnstile before an outbox. */
export interface Doorway extends Turnstile {
  /** To be called when somebody was turned away, because the outbox was full. */
  readonly turnedAway: () => void
  /** To be called when there may be room, though nothing has left. */
  readonly look: () => void
}

/** Lets through as many as an outbox has room for, by its own bounds. */
export const doorway = (stats: () => OutboxStats): Doorway => {
  let tooMany = false
  /** Somebody was turned away in this turn of the event loop. */
  let turning = false
  const gate = turnstile(() => {
    const { waiting, bytes, maxCount, maxBytes } = stats()
    // Whoever was turned away for the size of it would be so again, at once and for ever, until something has left.
    if (bytes >= maxBytes || turning || (tooMany && waiting > 0)) return 0
    return maxCount - waiting
  })
  return {
    ...gate,
    turnedAway: () => {
      tooMany = true
      if (turning) return
      turning = true
      // Where nothing waits, nothing will leave. Whoever comes again and again must leave the event loop its turns all the same.
      nextTurn(() => {
        turning = false
        gate.freed()
      })
    },
    look: gate.freed,
    freed: () => {
      tooMany = false
      gate.freed()
    },
  }
}

/** What a push source holds at most, and what it does beyond that. */
export interface PushOptions<T> {
  /** Items that may wait. Default 10,000 (CL2). */
  readonly capacity?: number
  /** Bytes that may wait, as `sizeOf` counts them. Default 32 MiB (CL2). Without `sizeOf` nothing is counted. */
  readonly maxBytes?: number
  /** The bytes of an item, 0 or more. */
  readonly sizeOf?: (item: T) => number
  /**
   * When there is no room: `error` refuses the new item, `dropNewest` takes and drops it, `dropOldest` drops what waited
   * longest. Default `error` (CL2).
   */
  readonly overflow?: 'error' | 'dropNewest' | 'dropOldest'
  /** Is given what was accepted and will not come out: dropped, or left behind by a reader that stopped. */
  readonly onDropped?: (outcome: Dropped<T> | Abandoned<T>) => void
  /** Is told when `onDropped` throws. */
  readonly onEvent?: Listener
  readonly clock?: Clock
}

/** Why an item was not taken. */
export type NotTaken = Full | TooLarge | Closed

/** accepted = taken + dropped + abandoned + waiting, at every moment. */
export interface PushStats {
  readonly accepted: number
  /** Handed to the reader. */
  readonly taken: number
  readonly dropped: number
  /** Left behind by a reader that stopped. */
  readonly abandoned: number
  readonly waiting: number
  /** Bytes that wait, as `sizeOf` counts them. */
  readonly bytes: number
  /** Answered with a refusal, and not accepted. */
  readonly refused: number
}

/** A source that is pushed into. It is read once. */
export interface Push<T> extends AsyncIterable<T, undefined, undefined> {
  /** Takes an item, or answers at once why not. An item larger than the byte bound is `TooLarge`: it would never fit. */
  readonly offer: (item: T) => Either<NotTaken, void>
  /**
   * Resolves when there is room, for those who wait in the order in which they came; at once after the end. The room is not
   * held: offer without awaiting anything in between, and if another was faster, wait again.
   */
  readonly ready: () => Promise<void>
  /** Takes nothing more. What waits still comes out, and then the source is done. */
  readonly end: () => void
  readonly stats: () => PushStats
}

interface Held<T> {
  readonly item: T
  readonly size: number
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }
const TAKEN: Either<never, void> = E.right(undefined)

/**
 * A bounded queue between code that calls and a pipeline that pulls: the way in for events that come from a host's own code.
 * RxJS has no backpressure, a `Subject` in its place would queue without bound; `pull(source, pipeline)` reads this one
 * only as fast as the pipeline ends its items.
 *
 * @throws RangeError if a bound is not a whole number of at least 1.
 *
 * @example
 * import { push } from 'headrace'
 *
 * const clicks = push<string>({ capacity: 2 })
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
  const { sizeOf = () => 0, overflow = 'error', onDropped, onEvent, clock = systemClock } = options
  const capacity = wholeNumber('capacity', 'items', 1, options.capacity ?? 10_000)
  const maxBytes = wholeNumber('maxBytes', 'bytes', 1, options.maxBytes ?? 32 * 1024 * 1024)

  const held = queue<Held<T>>()
  const readers = queue<(result: IteratorResult<T, undefined>) => void>()
  const counts = { accepted: 0, taken: 0, dropped: 0, abandoned: 0, refused: 0 }
  let bytes = 0
  /** Room for bytes is judged by it: who was refused for bytes and then waits needs as much as that. */
  let lastSize = 0
  let ended = false
  let read = false

  const gate = turnstile(() => {
    const places = capacity - held.size()
    return lastSize === 0 ? places : Math.min(places, Math.floor((maxBytes - bytes) / lastSize))
  })

  const boundFor = (size: number): Full['bound'] | undefined => {
    if (held.size() >= capacity) return 'count'
    return bytes + size > maxBytes ? 'bytes' : undefined
  }

  const takeOut = (): Held<T> | undefined => {
    const first = held.shift()
    if (first !== undefined) bytes -= first.size
    return first
  }

  /** What the next reader gets, if it can be said. */
  const nextResult = (): IteratorResult<T, undefined> | undefined => {
    const first = takeOut()
    if (first === undefined) return ended ? DONE : undefined
    counts.taken++
    return { done: false, value: first.item }
  }

  const serveReaders = (): void => {
    while (readers.size() > 0) {
      const result = nextResult()
      if (result === undefined) return
      readers.shift()?.(result)
    }
  }

  const report = (outcomes: ReadonlyArray<Dropped<T> | Abandoned<T>>): void => {
    if (onDropped === undefined) return
    for (const outcome of outcomes) {
      isolate(onDropped, outcome, (error) =>
        onEvent?.({ _tag: 'Defect', at: clock.now(), where: 'push.onDropped', error }),
      )
    }
  }

  const keep = (item: T, size: number): void => {
    held.push({ item, size })
    bytes += size
    gate.used()
    serveReaders()
  }

  const makeRoom = (size: number): ReadonlyArray<Dropped<T>> => {
    const gone: Array<Dropped<T>> = []
    while (boundFor(size) !== undefined) {
      const oldest = takeOut()
      if (oldest === undefined) break
      gone.push(dropped(oldest.item, 0, 'dropOldest'))
    }
    counts.dropped += gone.length
    return gone
  }

  const refuse = (refusal: NotTaken): Either<NotTaken, void> => {
    counts.refused++
    return E.left(refusal)
  }

  const offer = (item: T): Either<NotTaken, void> => {
    if (ended) return refuse(closed(item))
    const size = sizeOf(item)
    // Said this way round, what is no size at all is refused as well.
    if (!(size >= 0 && size <= maxBytes)) return refuse(tooLarge(item, maxBytes, size, undefined))
    lastSize = size
    const bound = boundFor(size)
    if (bound !== undefined && overflow === 'error') {
      return refuse(full(item, bound, bound === 'count' ? capacity : maxBytes))
    }
    counts.accepted++
    if (bound !== undefined && overflow === 'dropNewest') {
      counts.dropped++
      report([dropped(item, 0, 'dropNewest')])
      return TAKEN
    }
    const gone = makeRoom(size)
    keep(item, size)
    // Last, for the callback may offer again.
    report(gone)
    return TAKEN
  }

  const end = (): void => {
    ended = true
    gate.open()
    serveReaders()
  }

  const leave = (): void => {
    const left = held.drain()
    bytes = 0
    counts.abandoned += left.length
    end()
    report(left.map(({ item }) => abandoned(item, 0, undefined)))
  }

  const iterator: AsyncIterator<T, undefined, undefined> = {
    next: () =>
      new Promise((resolve) => {
        readers.push(resolve)
        serveReaders()
        gate.freed()
      }),
    return: () => {
      leave()
      return Promise.resolve(DONE)
    },
  }

  return {
    offer,
    ready: gate.pass,
    end,
    stats: () => ({ ...counts, waiting: held.size(), bytes }),
    [Symbol.asyncIterator]: () => {
      if (read) throw new Error('a push source is read once: share the items that come out of it')
      read = true
      return iterator
    },
  }
}
