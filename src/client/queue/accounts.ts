import { ledger } from '../../outcome/Totals.ts'
import type { Totals } from '../../outcome/Totals.ts'
import type { Outcome } from '../../outcome/Outcome.ts'
import type { OutboxStats } from '../../sink/Outbox.ts'
import type { Tell } from '../../observe/Happening.ts'
import type { Refusal } from '../../outcome/Refusal.ts'
import type { ClientStats } from '../Client.ts'
import type { Message, MessageBatch } from '../Message.ts'

/** Bounds on what was accepted and has not ended (CL2). */
export interface Bounds {
  readonly maxCount: number
  readonly maxBytes: number
}

/** The books of a client, in messages. */
export interface Accounts {
  /** The bound that one more message of so many bytes would break; what is reserved counts as there. */
  readonly boundFor: (byteLength: number) => 'count' | 'bytes' | undefined
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
  readonly batch: () => void
  readonly request: () => void
  /** Counts what happens. */
  readonly tell: Tell
  readonly waiting: () => number
  /** What waits and how much may, as an outbox says it. */
  readonly room: () => OutboxStats
  readonly totals: () => Totals
  readonly stats: () => Omit<ClientStats, 'enabled'>
}

/** Books with nothing in them. Every account changes in the turn in which it is told, so they agree at every moment. */
export const accounts = ({ maxCount, maxBytes }: Bounds): Accounts => {
  const books = ledger()
  const refusedBy: Record<Refusal['_tag'], number> = {
    Invalid: 0,
    TooLarge: 0,
    Full: 0,
    Disabled: 0,
    Closed: 0,
    NotKept: 0,
  }
  let refused = 0
  let waiting = 0
  let bytes = 0
  let reserved = { count: 0, bytes: 0 }
  let batches = 0
  let attempts = 0
  let requests = 0

  const boundFor = (byteLength: number): 'count' | 'bytes' | undefined => {
    if (waiting + reserved.count >= maxCount) return 'count'
    return bytes + reserved.bytes + byteLength > maxBytes ? 'bytes' : undefined
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
      books.accept()
    },
    end: (outcome) => {
      waiting--
      bytes -= outcome.item.byteLength
      books.end(outcome)
    },
    endAll: (outcome) => {
      for (const { byteLength } of outcome.item.members) {
        waiting--
        bytes -= byteLength
        books.end(outcome)
      }
    },
    batch: () => {
      batches++
    },
    request: () => {
      requests++
    },
    tell: (happening) => {
      if (happening._tag === 'Attempted') attempts++
      if (happening._tag !== 'RefusedAtDoor') return
      refused++
      refusedBy[happening.refusal._tag]++
    },
    waiting: () => waiting,
    room: () => ({ waiting, bytes, dead: 0, maxCount, maxBytes }),
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
