/**
 * How calls are accepted: checked, encoded, counted and bounded.
 *
 * @module
 */
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { refused } from '../core/failure.ts'
import { dropped, rejected } from '../core/outcome.ts'
import type { Outcome } from '../core/outcome.ts'
import { closed, disabled, full } from '../core/refusal.ts'
import type { Refusal } from '../core/refusal.ts'
import { counters } from '../core/totals.ts'
import type { Totals } from '../core/totals.ts'
import type { Listener, LogEvent } from '../log/logEvent.ts'
import type { OutboxStats } from '../outbox/outbox.ts'
import type { WaitForRoom } from '../sources/waitForRoom.ts'
import type { BatchRelay } from './batchRelay.ts'
import type { Accepted, ClientStats } from './client.ts'
import type { Encode } from './encoder.ts'
import type { Flushes } from './flush.ts'
import type { CallType, Message } from './message.ts'
import type { MessageStore } from './messageStore.ts'
import type { ClientSettings } from './options.ts'

/** A bound that one more message would break. */
interface Bound {
  readonly bound: 'count' | 'bytes'
  readonly limit: number
}

/** The counters of a client, in messages. */
export interface ClientCounters {
  readonly boundFor: (byteLength: number) => Bound | undefined
  /** What waits, and how much may: of memory or of all, whichever is closer to its bounds. */
  readonly occupancy: () => OutboxStats
  readonly accepted: (message: Message) => void
  readonly ended: (outcome: Outcome<Message>) => void
  /** A stored message cannot be read, and ended as a dead letter of the outbox. */
  readonly corrupt: () => void
  readonly refuse: (refusal: Refusal) => void
  readonly counted: { batches: number; attempts: number; requests: number }
  readonly waiting: () => number
  readonly totals: () => Totals
  readonly stats: () => ClientStats
}

const NO_DROPS: ReadonlyArray<never> = []
const NO_REFUSALS = { Invalid: 0, TooLarge: 0, Full: 0, Disabled: 0, Closed: 0, NotStored: 0 }

/**
 * With an outbox, its own bounds are those of all messages, and the bounds of the client are for what it has not stored yet.
 *
 * @param stored the outbox of the host or the folder; undefined for the memory of the client
 */
export const clientCounters = (
  { maxCount, maxBytes, enabled }: ClientSettings,
  stored: (() => OutboxStats) | undefined,
  startsWith: { readonly waiting: number; readonly bytes: number },
  notStored: MessageStore['notStored'],
): ClientCounters => {
  const all = counters(startsWith.waiting)
  const refusedBy: Record<Refusal['_tag'], number> = { ...NO_REFUSALS }
  const counted = { batches: 0, attempts: 0, requests: 0 }
  let refusals = 0
  let waiting = startsWith.waiting
  let bytes = startsWith.bytes

  const own = { maxCount, maxBytes }
  const boundIn = (
    count: number,
    used: number,
    limits: { readonly maxCount: number; readonly maxBytes: number },
    byteLength: number,
  ): Bound | undefined => {
    if (count >= limits.maxCount) return { bound: 'count', limit: limits.maxCount }
    return used + byteLength > limits.maxBytes ? { bound: 'bytes', limit: limits.maxBytes } : undefined
  }

  return {
    boundFor: (byteLength) => {
      if (stored === undefined) return boundIn(waiting, bytes, own, byteLength)
      const memory = notStored()
      return (
        boundIn(waiting, bytes, stored(), byteLength) ?? boundIn(memory.count, memory.bytes, own, byteLength)
      )
    },
    occupancy: () => {
      const client = { waiting, bytes, dead: 0, maxCount, maxBytes }
      if (stored === undefined) return client
      const total = { ...stored(), waiting, bytes }
      const memory = notStored()
      const isMemoryFuller = memory.bytes >= maxBytes || maxCount - memory.count < total.maxCount - waiting
      return isMemoryFuller ? { ...client, waiting: memory.count, bytes: memory.bytes } : total
    },
    accepted: ({ byteLength }) => {
      waiting++
      bytes += byteLength
      all.accept()
    },
    ended: (outcome) => {
      waiting--
      bytes -= outcome.item.byteLength
      all.end(outcome)
    },
    corrupt: () => {
      waiting--
      if (waiting === 0) bytes = 0
      all.end(rejected(undefined, 0, refused('corrupt')))
    },
    refuse: ({ _tag }) => {
      refusals++
      refusedBy[_tag]++
    },
    counted,
    waiting: () => waiting,
    totals: all.totals,
    stats: () => ({
      ...all.totals(),
      enabled,
      refused: refusals,
      refusedBy: { ...refusedBy },
      bytes,
      notPersisted: stored === undefined ? waiting : notStored().count,
      ...counted,
    }),
  }
}

/** What `accept` works with. */
export interface AcceptParts {
  readonly settings: ClientSettings
  readonly encode: Encode
  readonly counted: ClientCounters
  readonly store: MessageStore
  readonly relay: BatchRelay
  readonly flushes: Flushes
  readonly room: WaitForRoom
  readonly isClosed: () => boolean
  /** Whether a dropped message is being reported: a call that sends it again could do so without end. */
  readonly isReportingDrop: () => boolean
  readonly report: (outcome: Outcome<Message>) => void
  /** A message waits. */
  readonly busy: () => void
  readonly onEvent: Listener
  readonly hears: (tag: LogEvent['_tag']) => boolean
  readonly now: () => number
}

/** Takes a call, or answers why not: at once, and without throwing. */
export const accept = ({
  settings: { enabled, overflow },
  encode,
  counted,
  store,
  relay,
  flushes,
  room,
  isClosed,
  isReportingDrop,
  report,
  busy,
  onEvent,
  hears,
  now,
}: AcceptParts): ((call: unknown, kind: CallType | undefined) => Either<Refusal, Accepted>) => {
  const refuse = (refusal: Refusal): Either<Refusal, never> => {
    if (refusal._tag === 'Full') room.refused()
    counted.refuse(refusal)
    onEvent({ _tag: 'Refused', at: now(), refusal })
    return left(refusal)
  }

  /** With no room and nothing in flight, all would wait for the timer: a queue may be smaller than a batch. */
  const sendIfIdle = (): boolean => {
    if (!relay.isIdle()) return false
    relay.flush('flush', store.notStored().count)
    return true
  }

  const dropOldest = (): Outcome<Message> | undefined => {
    const entry = relay.takeOldest()
    if (entry === undefined) return undefined
    const outcome = dropped(entry.item, entry.progress?.attempts ?? 0, 'dropOldest')
    store.ack([{ entry, outcome }], () => undefined)
    counted.ended(outcome)
    flushes.ended(entry.id)
    return outcome
  }

  const reportAccepted = (message: Message): void => {
    busy()
    if (hears('Accepted')) onEvent({ _tag: 'Accepted', at: now(), item: message })
  }

  const dropNew = (message: Message): void => {
    counted.accepted(message)
    reportAccepted(message)
    const outcome = dropped(message, 0, 'dropNewest')
    counted.ended(outcome)
    report(outcome)
  }

  return (call, kind) => {
    if (isClosed()) return refuse(closed(call))
    const encoded = encode(call, kind)
    if (isLeft(encoded)) return refuse(encoded.left)
    if (!enabled) return refuse(disabled(call))
    const message = encoded.right
    const { byteLength } = message
    let bound = counted.boundFor(byteLength)
    if (bound !== undefined && sendIfIdle()) bound = counted.boundFor(byteLength)
    const mayDrop = overflow !== 'error' && !isReportingDrop()
    if (bound !== undefined && !mayDrop) return refuse(full(call, bound.bound, bound.limit))
    let drops: ReadonlyArray<Outcome<Message>> = NO_DROPS
    while (bound !== undefined && overflow === 'dropOldest') {
      const outcome = dropOldest()
      if (outcome === undefined) break
      drops = [...drops, outcome]
      bound = counted.boundFor(byteLength)
    }
    room.used()
    if (bound !== undefined) {
      for (const outcome of drops) report(outcome)
      dropNew(message)
      return right({ id: message.id })
    }
    counted.accepted(message)
    // First it is added, then it is reported: what a listener sends meanwhile comes behind it.
    store.add(message, flushes.accepted())
    reportAccepted(message)
    for (const outcome of drops) report(outcome)
    if (counted.boundFor(1) === undefined || !sendIfIdle()) relay.pollNew()
    return right({ id: message.id })
  }
}
