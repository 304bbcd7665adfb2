/**
 * The counters of a client, in messages: its bounds, its totals, and which messages a flush waits for.
 *
 * @module
 */
import type { Outcome } from '../core/outcome.ts'
import type { Full, Refusal } from '../core/refusal.ts'
import { counters } from '../core/totals.ts'
import { heldBytes } from '../event/payload.ts'
import type { OutboxStats } from '../outbox/outbox.ts'
import type { ClientStats } from './client.ts'
import type { Message } from './message.ts'
import type { ClientSettings } from './options.ts'

/** The messages accepted between two flushes. */
interface Segment {
  readonly number: number
  /** How many of them have not ended. */
  live: number
}

const boundIn = (
  count: number,
  bytes: number,
  { maxCount, maxBytes }: Pick<OutboxStats, 'maxCount' | 'maxBytes'>,
): Pick<Full, 'bound' | 'limit'> | undefined => {
  if (count >= maxCount) return { bound: 'count', limit: maxCount }
  return bytes > maxBytes ? { bound: 'bytes', limit: maxBytes } : undefined
}

export type ClientCounters = ReturnType<typeof clientCounters>

/**
 * With an outbox, its own bounds are those of all messages, and the bounds of the client are for what it has not stored yet.
 *
 * A message belongs to the segment in which it was accepted. That is remembered only while a flush waits; without it, a message belongs
 * to the oldest segment. So flushes cost nothing while none waits.
 *
 * @param stored the outbox of the host or the folder; undefined for the memory of the client
 */
export const clientCounters = (
  settings: ClientSettings,
  stored: (() => OutboxStats) | undefined,
  start: { readonly waiting: number; readonly bytes: number },
) => {
  const all = counters(start.waiting)
  const refusedBy = { Invalid: 0, TooLarge: 0, Full: 0, Disabled: 0, Closed: 0, NotStored: 0 }
  const sent = { batches: 0, attempts: 0, requests: 0 }
  const notStored = { count: 0, bytes: 0 }
  let { waiting, bytes } = start
  /** The segments that a flush waits for, oldest first. */
  const flushing: Segment[] = []
  let current: Segment = { number: 0, live: waiting }
  /** By message until that has its entry, then by entry id. */
  const segments = new Map<Message | string, Segment>()

  /** On a disk waits what is sent, in memory what that takes there. */
  const sizeOf = (message: Message): number =>
    stored === undefined ? heldBytes(message) : message.byteLength

  const leave = (entryId: string, size: number): void => {
    waiting--
    bytes = waiting === 0 ? 0 : bytes - size
    // Looking up a new string costs more than all else here.
    const known = segments.size === 0 ? undefined : segments.get(entryId)
    const segment = known ?? flushing[0] ?? current
    segment.live = Math.max(0, segment.live - 1)
    if (flushing.length === 0) return
    segments.delete(entryId)
    while (flushing[0]?.live === 0) flushing.shift()
    if (flushing.length === 0) segments.clear()
  }

  return {
    /** Counted by the relay and the sink. */
    sent,
    /** What is in memory and not stored, counted by the store. Without an outbox: all that waits. */
    notStored,
    waiting: (): number => waiting,
    totals: all.totals,
    stats: (): ClientStats => ({
      ...all.totals(),
      enabled: settings.enabled,
      refused: Object.values(refusedBy).reduce((sum, count) => sum + count, 0),
      refusedBy: { ...refusedBy },
      bytes,
      notPersisted: notStored.count,
      ...sent,
    }),
    /** The bound that one more message would break, given what it takes in memory. */
    boundFor: (held: number) =>
      // Called three times for each message, so without objects.
      boundIn(notStored.count, notStored.bytes + held, settings) ??
      (stored && boundIn(waiting, bytes + held, stored())),
    refused: ({ _tag }: Refusal): void => {
      refusedBy[_tag]++
    },
    accepted: (message: Message): void => {
      waiting++
      bytes += sizeOf(message)
      all.accept()
      current.live++
      if (flushing.length > 0) segments.set(message, current)
    },
    /** A message has its entry. */
    placed: (entryId: string, message: Message): void => {
      const segment = segments.size === 0 ? undefined : segments.get(message)
      if (segment !== undefined) segments.set(entryId, segment)
    },
    ended: (entryId: string, outcome: Outcome<Message>): void => {
      all.end(outcome)
      leave(entryId, sizeOf(outcome.item))
    },
    /** A message was accepted and dropped at once. */
    dropped: (outcome: Outcome<Message>): void => {
      all.accept()
      all.end(outcome)
    },
    /** A stored message cannot be read, and ended as a dead letter of the outbox. */
    corrupt: (entryId: string): void => {
      all.endCorrupt()
      leave(entryId, 0)
    },
    /** A check whether everything accepted so far has ended. */
    flush: (): (() => boolean) => {
      if (current.live > 0) {
        flushing.push(current)
        current = { number: current.number + 1, live: 0 }
      }
      const last = flushing.at(-1)?.number ?? -1
      // By number: thousands of calls may wait, and each is checked at every change.
      return () => (flushing[0]?.number ?? Infinity) > last
    },
  }
}
