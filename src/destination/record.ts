/**
 * An encoded event as a store keeps it: the text that is sent, unchanged, and before it, on a line of its own, what travels beside the
 * body. The event itself is read back from its body (EV6), so nothing is kept twice. A signer is no part of it: secrets and
 * signatures are never stored (DE10).
 *
 * @module
 */

import * as E from 'fp-ts/lib/Either.js'
import { isLeft } from 'fp-ts/lib/Either.js'
import { isPromiseLike } from '../core/awaitable.ts'
import type { Awaitable } from '../core/awaitable.ts'
import type { Clock } from '../core/clock.ts'
import { decodeOptions } from '../core/options.ts'
import type { Fault } from '../core/refusal.ts'
import type { Event } from '../event/event.ts'
import { Integrations } from '../event/event.ts'
import type { Forwarded } from '../event/kinds.ts'
import type { EventPayload, Payload } from '../event/payload.ts'
import { eventInOwned } from '../event/webhookBody.ts'
import { isStoredIn, storedIn } from '../outbox/lmdb/contract.ts'
import type { ItemCodec } from '../outbox/lmdb/contract.ts'
import { lmdbOutbox } from '../outbox/lmdb/lmdbOutbox.ts'
import { memoryOutbox } from '../outbox/memoryOutbox.ts'
import { ordered } from '../outbox/ordered.ts'
import { isOutbox } from '../outbox/outbox.ts'
import type { Outbox, OutboxStats } from '../outbox/outbox.ts'
import type { DestinationOptions } from './destination.ts'
import type { Numbers } from './options.ts'

/** What travels beside the body. */
interface Header {
  readonly id: string
  readonly integrations?: Integrations
}

/** The record of an encoded event. */
export const toText = ({ id, items: [event], text }: EventPayload<Event>): string => {
  const integrations = event.type === 'delete' ? undefined : event.integrations
  const header: Header = integrations === undefined ? { id } : { id, integrations }
  // JSON has no line break of its own, so the first one ends the header.
  return `${JSON.stringify(header)}\n${text}`
}

const DAMAGED = 'it is no record of an event'

const headerIn = (text: string): Header => {
  const header: unknown = JSON.parse(text)
  if (typeof header !== 'object' || header === null || !('id' in header) || typeof header.id !== 'string')
    throw new Error(DAMAGED)
  if (!('integrations' in header)) return { id: header.id }
  const integrations = Integrations.decode(header.integrations)
  if (isLeft(integrations)) throw new Error(DAMAGED)
  return { id: header.id, integrations: integrations.right }
}

const eventIn = ({ id, integrations }: Header, forwarded: Forwarded): Event => {
  if (forwarded.type === 'delete') return { ...forwarded, messageId: id }
  return integrations === undefined ? forwarded : { ...forwarded, integrations }
}

/** The encoded event in a record, byte for byte the one that was kept. Throws if it is no such record. */
export const fromText = (record: string): EventPayload<Event> => {
  const end = record.indexOf('\n')
  const header = headerIn(record.slice(0, Math.max(0, end)))
  const text = record.slice(end + 1)
  const forwarded = eventInOwned(JSON.parse(text))
  if (forwarded === undefined) throw new Error(DAMAGED)
  return {
    id: header.id,
    items: [eventIn(header, forwarded)],
    text,
    byteLength: Buffer.byteLength(text),
  }
}

/** How encoded events are kept on a disk. */
export const payloadCodec: ItemCodec<Payload<Event>> = {
  toText: (payload) => {
    // A destination accepts one event at a time, and puts nothing else into its outbox.
    if (payload.members !== undefined) throw new TypeError('a batch is no item of a destination')
    return toText(payload)
  },
  fromText,
  kind: 'events',
  sizeOf: ({ byteLength }) => byteLength,
}

const NEITHER: Fault = { path: 'outbox', message: 'must be { path } of a folder, or an Outbox' }

/** What is wrong with the `outbox` of a destination; undefined stands for memory. */
export const outboxFaults = (outbox: unknown): ReadonlyArray<Fault> => {
  if (outbox === undefined) return []
  if (typeof outbox !== 'object' || outbox === null) return [NEITHER]
  if (!('enqueue' in outbox))
    return E.match(
      (faults: ReadonlyArray<Fault>) =>
        faults.map(({ path, message }) => ({ path: `outbox.${path}`, message })),
      () => [],
    )(decodeOptions(storedIn, outbox))
  return isOutbox(outbox) ? [] : [NEITHER]
}

/** What an outbox of a destination stands on. */
export interface OutboxSurroundings {
  readonly numbers: Pick<Numbers, 'maxCount' | 'maxBytes'>
  readonly clock: Clock
  /** Is told what `orderBy` threw. */
  readonly defect: (error: unknown) => void
}

/** Where accepted events wait, in order if one is wanted (DE7). @throws OutboxError when a folder cannot be opened. */
export const outboxOf = (
  { outbox, orderBy }: DestinationOptions,
  { numbers, clock, defect }: OutboxSurroundings,
): Outbox<Payload<Event>> => {
  const opened = (): Outbox<Payload<Event>> => {
    if (outbox === undefined) return memoryOutbox<Payload<Event>>(numbers)
    return isStoredIn(outbox) ? lmdbOutbox({ ...outbox, codec: payloadCodec, clock }) : outbox
  }
  const given = opened()
  if (orderBy === undefined) return given
  return ordered(given, ({ items: [event] }) => orderBy(event), defect)
}

/** What was offered to an outbox that has not answered yet. It wants its room, so it counts as if it waited already. */
export interface Arrivals {
  /** Counts an offer of so many bytes until it is answered; hands the answer on. */
  readonly counted: <T>(bytes: number, answer: Awaitable<T>) => Awaitable<T>
  /** What waits, with what is on its way. */
  readonly within: (stats: OutboxStats) => OutboxStats
}

/** Counts what is on its way into an outbox. `answered` is told each time that it is less. */
export const arrivals = (answered: () => void): Arrivals => {
  let count = 0
  let bytes = 0
  return {
    counted: (size, answer) => {
      // A store in memory answers at once, and then counts the item itself.
      if (!isPromiseLike(answer)) return answer
      count++
      bytes += size
      const over = (): void => {
        count--
        bytes -= size
        answered()
      }
      answer.then(over, over)
      return answer
    },
    within: (stats) =>
      count === 0 ? stats : { ...stats, waiting: stats.waiting + count, bytes: stats.bytes + bytes },
  }
}
