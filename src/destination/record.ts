/**
 * An event, encoded once: as the payload that is sent, and as the text that a store keeps. That text is the body as it is
 * sent, after a line with what is not in the body. Secrets and signatures are never stored.
 *
 * @module
 */

import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { messageOf } from '../core/failure.ts'
import type { Clock } from '../core/clock.ts'
import { invalid } from '../core/refusal.ts'
import type { Refusal } from '../core/refusal.ts'
import { eventReader, Integrations } from '../event/event.ts'
import type { Event } from '../event/event.ts'
import type { Forwarded } from '../event/model.ts'
import { writePayload } from '../event/payload.ts'
import type { EventPayload, Payload } from '../event/payload.ts'
import { eventInOwned, toWebhookBody } from '../event/webhookBody.ts'
import { isListening } from '../log/listeners.ts'
import type { Listening } from '../log/listeners.ts'
import type { ItemCodec } from '../outbox/lmdb/contract.ts'

/** The part of a destination's options that an encoder needs. */
interface EncoderOptions extends Listening {
  readonly clock: Clock
  readonly newId?: () => string
  readonly maxBody: number
}

/**
 * Makes the payload of a call, or answers why not. Never throws. `onUnknownKeys` is given top-level keys that no event has.
 * With `owned`, calls come from `JSON.parse` and are not copied.
 */
export const eventEncoder = (
  options: EncoderOptions,
  onUnknownKeys: (keys: ReadonlyArray<string>) => void,
  owned = false,
): ((call: unknown) => Either<Refusal, EventPayload<Event>>) => {
  const { clock, newId, maxBody } = options
  const hears = isListening(options)
  const read = eventReader({ clock, owned, onUnknownKeys, ...(newId === undefined ? {} : { newId }) }, () =>
    hears('UnknownKeys'),
  )

  return (call) => {
    try {
      const found = read(call, undefined)
      if (isLeft(found)) return left(invalid(call, found.left))
      const event = found.right
      return writePayload(event.messageId, event, toWebhookBody(event), maxBody)
    } catch (error) {
      // The clock and `newId` are code of the host.
      return left(invalid(call, [{ path: '', message: `could not be encoded: ${messageOf(error)}` }]))
    }
  }
}

/** The first line of a record: what is not in the body. */
interface Header {
  readonly id: string
  readonly integrations?: Integrations
}

const DAMAGED = 'not a record of an event'

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

/** The record of a payload. */
export const toText = (payload: Payload<Event>): string => {
  // A destination accepts single events only.
  if (payload.members !== undefined) throw new TypeError('a batch is no item of a destination')
  const { id, items, text } = payload
  const [event] = items
  const integrations = event.type === 'delete' ? undefined : event.integrations
  const header: Header = integrations === undefined ? { id } : { id, integrations }
  // JSON has no line break of its own, so the first one ends the header.
  return `${JSON.stringify(header)}\n${text}`
}

/** The payload of a record, with the same bytes. Throws if it is no such record. */
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

/** Stores events in a folder. */
export const payloadCodec: ItemCodec<Payload<Event>> = {
  toText,
  fromText,
  kind: 'events',
  sizeOf: ({ byteLength }) => byteLength,
}
