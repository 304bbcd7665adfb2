import type { Draft } from '../../outbox/lmdb/entering/Drafts.ts'
import { bytesIn } from '../Message.ts'
import type { Message } from '../Message.ts'
import { openToText } from './BatchRecord.ts'

/** A part of an open batch that was written, or is being written. */
export interface Written extends Draft {
  isKept: boolean
  isNeeded: boolean
}

/** An open batch, as far as it was written. */
interface Lane {
  readonly parts: ReadonlyArray<Written>
  /** So many of its messages are in them. */
  readonly upTo: number
}

/** The parts of open batches, by lane. */
export interface OpenParts {
  /** A transaction begins anew: what the one before it began is not in the store. */
  readonly begin: () => void
  /** Makes a part of what a lane has and no part has. */
  readonly write: (lane: number, messages: ReadonlyArray<Message>) => void
  /** Whether one that begins now would make a part for this lane, of which so many messages are accepted. */
  readonly isBehind: (lane: number, count: number) => boolean
  /** Whether so many of the messages of a lane are in parts that are in the store. */
  readonly isKept: (lane: number, count: number) => boolean
  /** The parts that the transaction writes. */
  readonly begun: () => ReadonlyArray<Draft>
  /** They are in the store. */
  readonly done: () => void
  /** The batch of a lane was closed: answers its parts, also those that are being written. */
  readonly close: (lane: number) => ReadonlyArray<Written>
  /** These are no longer needed. To be said again changes nothing. */
  readonly forget: (parts: ReadonlyArray<Written>) => void
  /** So many messages are in parts that are in the store and still needed. */
  readonly kept: () => number
}

interface Begun {
  readonly lane: number
  readonly part: Written
}

const NONE: Lane = { parts: [], upTo: 0 }

/** What of open batches is in the store. Numbers go on behind the newest of an earlier life. */
export const openParts = (newest: number, restored: ReadonlyArray<Written>): OpenParts => {
  const lanes = new Map<number, Lane>()
  let number = newest
  let begun: ReadonlyArray<Begun> = []
  let kept = restored.reduce((sum, { count }) => sum + count, 0)

  const laneOf = (lane: number): Lane => lanes.get(lane) ?? NONE

  const begin = (): void => {
    for (const { lane, part } of begun) {
      const { parts, upTo } = laneOf(lane)
      // If its batch was closed meanwhile, it is no part of what is open now.
      if (parts.includes(part))
        lanes.set(lane, { parts: parts.filter((each) => each !== part), upTo: upTo - part.count })
    }
    begun = []
  }

  return {
    begin,
    isBehind: (lane, count) => {
      begin()
      return count > laneOf(lane).upTo
    },
    isKept: (lane, count) => {
      const { parts, upTo } = laneOf(lane)
      return count <= upTo && parts.every(({ isKept }) => isKept)
    },
    write: (lane, messages) => {
      const { parts, upTo } = laneOf(lane)
      if (messages.length <= upTo) return
      const some = messages.slice(upTo)
      const text = openToText({ lane, messages: some })
      const part = {
        number: ++number,
        text,
        count: some.length,
        size: bytesIn(some),
        isKept: false,
        isNeeded: true,
      }
      begun = [...begun, { lane, part }]
      lanes.set(lane, { parts: [...parts, part], upTo: messages.length })
    },
    begun: () => begun.map(({ part }) => part),
    done: () => {
      for (const { part } of begun) {
        if (!part.isNeeded) continue
        part.isKept = true
        kept += part.count
      }
      begun = []
    },
    close: (lane) => {
      const { parts } = laneOf(lane)
      lanes.delete(lane)
      return parts
    },
    forget: (parts) => {
      for (const part of parts) {
        if (!part.isNeeded) continue
        part.isNeeded = false
        if (part.isKept) kept -= part.count
      }
    },
    kept: () => kept,
  }
}
