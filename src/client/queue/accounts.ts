import { counters } from '../../core/totals.ts'
import type { Totals } from '../../core/totals.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { OutboxStats } from '../../outbox/oldOutbox.ts'
import type { Listener } from '../../log/logEvent.ts'
import type { Refusal } from '../../core/refusal.ts'
import type { ClientStats } from '../Client.ts'
import { bytesIn } from '../Message.ts'
import type { Message, MessageBatch } from '../Message.ts'

/** Bounds on what was accepted and has not ended (CL2). */
export interface Bounds {
  readonly maxCount: number
  readonly maxBytes: number
}

/** What a folder holds, and may hold. */
export interface Stored extends Bounds {
  /** Of an earlier life. */
  readonly waiting: number
  readonly bytes: number
}

/** What is in the way of one more, and its limit. */
export interface Bound {
  readonly bound: 'count' | 'bytes'
  readonly limit: number
}

/** The books of a client, in messages. */
export interface Accounts {
  /** The bound that one more message of so many bytes would break; what is reserved counts as there. */
  readonly boundFor: (byteLength: number) => Bound | undefined
  /** Whether there is no room even for the smallest message. */
  readonly isFull: () => boolean
  /**
   * Runs `make`, which drops, while the room for a message of so many bytes is kept for it: what somebody sends when he hears of
   * the drop does not take it away.
   */
  readonly reserving: <T>(byteLength: number, make: () => T) => T
  readonly accept: (message: Message) => void
  readonly end: (outcome: Outcome<Message>) => void
  /** Ends all messages of a batch in the same way. */
  readonly endAll: (outcome: Outcome<MessageBatch>) => void
  /** A batch of an earlier life is in memory again. */
  readonly hold: (batch: MessageBatch) => void
  /** A batch is on the disk, and no longer in memory. */
  readonly keep: (batch: MessageBatch) => void
  readonly batch: () => void
  readonly request: () => void
  /** Counts what happens. */
  readonly onEvent: Listener
  readonly waiting: () => number
  /** What waits and how much may, as an outbox says it. */
  readonly room: () => OutboxStats
  readonly totals: () => Totals
  readonly stats: () => Omit<ClientStats, 'enabled' | 'notPersisted'>
}

/**
 * Books. Every account changes in the turn in which it is told, so they agree at every moment. With a folder there are bounds for what waits there,
 * and those of memory are for what is not there yet; what it holds already was accepted before.
 */
export const accounts = ({ maxCount, maxBytes }: Bounds, stored?: Stored): Accounts => {
  const books = counters(stored?.waiting)
  const refusedBy: Record<Refusal['_tag'], number> = {
    Invalid: 0,
    TooLarge: 0,
    Full: 0,
    Disabled: 0,
    Closed: 0,
    NotStored: 0,
  }
  let refused = 0
  let waiting = stored?.waiting ?? 0
  let bytes = stored?.bytes ?? 0
  /** Of these, what is in memory and not on the disk; of interest only with a folder. */
  let held = { count: 0, bytes: 0 }
  let reserved = { count: 0, bytes: 0 }
  let batches = 0
  let attempts = 0
  let requests = 0

  const allCount = stored?.maxCount ?? maxCount
  const allBytes = stored?.maxBytes ?? maxBytes

  const hold = (count: number, more: number): void => {
    if (stored !== undefined) held = { count: held.count + count, bytes: held.bytes + more }
  }

  const boundFor = (byteLength: number): Bound | undefined => {
    const { count, bytes: more } = reserved
    if (waiting + count >= allCount) return { bound: 'count', limit: allCount }
    if (bytes + more + byteLength > allBytes) return { bound: 'bytes', limit: allBytes }
    if (stored === undefined) return undefined
    if (held.count + count >= maxCount) return { bound: 'count', limit: maxCount }
    return held.bytes + more + byteLength > maxBytes ? { bound: 'bytes', limit: maxBytes } : undefined
  }

  /** Whichever is the nearer to its bounds: memory, or all. */
  const room = (): OutboxStats => {
    const all = { waiting, bytes, dead: 0, maxCount: allCount, maxBytes: allBytes }
    if (stored === undefined || waiting >= allCount || bytes >= allBytes) return all
    const isTighter = held.bytes >= maxBytes || maxCount - held.count < allCount - waiting
    return isTighter ? { waiting: held.count, bytes: held.bytes, dead: 0, maxCount, maxBytes } : all
  }

  return {
    boundFor,
    isFull: () => boundFor(1) !== undefined,
    reserving: (byteLength, make) => {
      const before = reserved
      reserved = { count: before.count + 1, bytes: before.bytes + byteLength }
      const made = make()
      reserved = before
      return made
    },
    accept: ({ byteLength }) => {
      waiting++
      bytes += byteLength
      hold(1, byteLength)
      books.accept()
    },
    end: (outcome) => {
      const { byteLength } = outcome.item
      waiting--
      bytes -= byteLength
      // What ends in these ways never came to the disk; all that ends in another way has left memory for it.
      if (outcome._tag === 'Dropped' || outcome._tag === 'Abandoned') hold(-1, -byteLength)
      books.end(outcome)
    },
    endAll: (outcome) => {
      for (const { byteLength } of outcome.item.members) {
        waiting--
        bytes -= byteLength
        books.end(outcome)
      }
    },
    hold: ({ members }) => {
      hold(members.length, bytesIn(members))
    },
    keep: ({ members }) => {
      hold(-members.length, -bytesIn(members))
    },
    batch: () => {
      batches++
    },
    request: () => {
      requests++
    },
    onEvent: (happening) => {
      if (happening._tag === 'Attempted') attempts++
      if (happening._tag !== 'Refused') return
      refused++
      refusedBy[happening.refusal._tag]++
    },
    waiting: () => waiting,
    room,
    totals: books.totals,
    stats: () => ({
      ...books.totals(),
      refused,
      refusedBy: { ...refusedBy },
      bytes,
      batches,
      attempts,
      requests,
    }),
  }
}
