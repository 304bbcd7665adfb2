/**
 * An encoded event as a store keeps it: the text that is sent, unchanged, and before it, on a line of its own, what travels beside the
 * body. The event itself is read back from its body (EV6), so nothing is kept twice. A signer is no part of it: secrets and
 * signatures are never stored (DE10).
 *
 * @module
 */
import { isLeft } from 'fp-ts/lib/Either.js'
import type { Event } from '../../event/Event.ts'
import { Integrations } from '../../event/Integrations.ts'
import type { Forwarded } from '../../event/Kinds.ts'
import type { EventPayload } from '../../event/Payload.ts'
import { eventInOwned } from '../../event/WebhookBody.ts'

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
