/**
 * An event, encoded once: as the payload that is sent, and as the text that a store keeps. That text is the body as it is
 * sent, after a line with what is not in the body. Secrets and signatures are never stored.
 *
 * @module
 */

import * as t from 'io-ts'
import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { messageOf } from '../core/failure.ts'
import { invalid } from '../core/refusal.ts'
import type { Refusal } from '../core/refusal.ts'
import { eventReader } from '../event/event.ts'
import type { Event } from '../event/event.ts'
import { toFaults } from '../event/json.ts'
import { Integrations } from '../event/model.ts'
import { writePayload } from '../event/payload.ts'
import type { EventPayload, Payload } from '../event/payload.ts'
import { eventInStored, toWebhookBody } from '../event/webhookBody.ts'
import { isListening } from '../log/listeners.ts'
import type { ItemCodec } from '../outbox/lmdb/contract.ts'
import type { SharedOptions } from './settings.ts'

/**
 * Makes the payload of a call, or answers why not. Never throws. `onUnknownKeys` is given top-level keys that no event has.
 * With `owned`, calls come from `JSON.parse` and are not copied.
 */
export const eventEncoder = (
  options: SharedOptions,
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
      if (isLeft(found)) return left(invalid(call, toFaults(found.left)))
      const event = found.right
      return writePayload(event.messageId, event, toWebhookBody(event), maxBody)
    } catch (error) {
      // The clock and `newId` are code of the host.
      return left(invalid(call, [{ path: '', message: `could not be encoded: ${messageOf(error)}` }]))
    }
  }
}

/** The first line of a record: what is not in the body. */
const Header = t.intersection([t.type({ id: t.string }), t.partial({ integrations: Integrations })])

/** The record of a payload. */
export const toText = (payload: Payload<Event>): string => {
  // A destination accepts single events only.
  if (payload.members !== undefined) throw new TypeError('a batch is no item of a destination')
  const { id, items, text } = payload
  const [event] = items
  const integrations = event.type === 'delete' ? undefined : event.integrations
  const header = JSON.stringify(integrations === undefined ? { id } : { id, integrations })
  // JSON has no line break of its own, so the first one ends the header.
  return `${header}\n${text}`
}

/** The payload of a record, with the same bytes. Throws if it is no such record. */
export const fromText = (record: string): EventPayload<Event> => {
  const end = record.indexOf('\n')
  const header = Header.decode(JSON.parse(record.slice(0, Math.max(0, end))))
  const text = record.slice(end + 1)
  const forwarded = eventInStored(JSON.parse(text))
  if (isLeft(header) || forwarded === undefined) throw new Error('not a record of an event')
  const { id, integrations } = header.right
  let event: Event
  if (forwarded.type === 'delete') event = { ...forwarded, messageId: id }
  else event = integrations === undefined ? forwarded : { ...forwarded, integrations }
  return { id, items: [event], text, byteLength: Buffer.byteLength(text) }
}

/** Stores events in a folder. */
export const payloadCodec: ItemCodec<Payload<Event>> = {
  toText,
  fromText,
  kind: 'events',
  sizeOf: ({ byteLength }) => byteLength,
}
