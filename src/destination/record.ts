/**
 * An event, encoded once: as the payload of a request, and as the text in a store. That text is the body of
 * the request, after a line with the data that is not in the body. Secrets and signatures are never stored.
 * @module
 */
import * as t from 'io-ts'
import { isLeft, left, right, type Either } from '../core/either.ts'
import { ignoreRejection } from '../core/awaitable.ts'
import { isRecord } from '../core/json.ts'
import { invalid, notStored, type Refusal } from '../core/refusal.ts'
import { eventReader, type Event } from '../event/event.ts'
import { toFaults } from '../event/json.ts'
import { Integrations } from '../event/model.ts'
import { heldBytes, metaBytes, metaOf, writePayload } from '../event/payload.ts'
import type { EventPayload, Meta, Payload } from '../event/payload.ts'
import { eventInStored, toWebhookBody } from '../event/webhookBody.ts'
import { isListening } from '../log/listeners.ts'
import type { ItemCodec } from '../outbox/outbox.ts'
import type { IncomingHeaders, SharedOptions } from './settings.ts'

/** The integrations of an event as JSON: the body does not carry them. */
const INTEGRATIONS = Symbol('integrations')

interface WaitingEvent extends EventPayload<Event> {
  readonly [INTEGRATIONS]?: string
}

const eventIn = ({ id, text, [INTEGRATIONS]: integrations }: WaitingEvent): Event => {
  const event = eventInStored(JSON.parse(text))
  if (event === undefined) throw new Error('not the body of an event')
  if (event.type === 'delete') return { ...event, messageId: id }
  // It was written from the integrations of an event.
  return integrations ? { ...event, integrations: JSON.parse(integrations) as Integrations } : event
}

/** One getter for all payloads: with one of its own each of them would take twice the memory. */
const lazyItems: PropertyDescriptor & ThisType<WaitingEvent> = {
  enumerable: true,
  get() {
    return [eventIn(this)]
  },
}

/** A payload that holds text only: the event is read from it each time that `items` is looked at. */
const waitingPayload = (
  id: string,
  text: string,
  byteLength: number,
  integrations: Integrations | undefined,
  orderKey: string | undefined,
  meta: Meta | undefined,
): EventPayload<Event> => {
  // Spreads of mostly absent fields took 0.2 µs a message.
  const payload: { -readonly [K in keyof WaitingEvent]?: WaitingEvent[K] } = { id, text, byteLength }
  if (integrations !== undefined) payload[INTEGRATIONS] = JSON.stringify(integrations)
  if (orderKey !== undefined) payload.orderKey = orderKey
  if (meta !== undefined) payload.meta = meta
  // With `items` it is complete.
  return Object.defineProperty(payload, 'items', lazyItems) as WaitingEvent
}

const NO_HEADERS: IncomingHeaders = { get: () => undefined }

export type Encoded = Readonly<{ event: Event; payload: EventPayload<Event> }>

/**
 * Makes the payload of a call, or answers why not. Never throws. `onUnknownKeys` receives top-level keys that
 * no event has, and `defectIn` the errors of `orderBy` and `meta`: the event has no order then, or no meta.
 * With `owned` a call is checked where it is, and not copied: the text is the copy. `hears`: whether unknown
 * keys are reported.
 */
export const eventEncoder = (
  options: SharedOptions,
  onUnknownKeys: (keys: ReadonlyArray<string>) => void,
  defectIn: (where: string) => (error: unknown) => void,
  owned = false,
  hears = isListening(options),
): ((call: unknown, headers?: IncomingHeaders) => Either<Refusal, Encoded>) => {
  const { clock, newId, maxBodyBytes, orderBy, meta: askMeta } = options
  const reading = { clock, owned, onUnknownKeys, ...(newId === undefined ? {} : { newId }) }
  const read = eventReader(reading, () => hears('UnknownKeys'))

  const orderKeyOf = (event: Event): string | undefined => {
    try {
      const key: unknown = orderBy?.(event)
      // Code without types may answer a number, or nothing.
      if (typeof key === 'string' || typeof key === 'number') return String(key)
      ignoreRejection(key)
      if (isRecord(key)) throw new TypeError('orderBy must answer a text, not an object or a promise')
    } catch (error) {
      defectIn('orderBy')(error)
    }
    return undefined
  }

  return (call, headers = NO_HEADERS) => {
    try {
      const found = read(call, undefined)
      if (isLeft(found)) return left(invalid(call, toFaults(found.left)))
      const event = found.right
      const { messageId } = event
      const written = writePayload(messageId, event, toWebhookBody(event), maxBodyBytes)
      if (isLeft(written)) return written
      const { text, byteLength } = written.right
      const integrations = event.type === 'delete' ? undefined : event.integrations
      const orderKey = orderBy && orderKeyOf(event)
      const meta = askMeta && metaOf(() => askMeta(event, headers), defectIn('meta'))
      const payload = waitingPayload(messageId, text, byteLength, integrations, orderKey, meta)
      return right({ event, payload })
    } catch (error) {
      // Code of the host: nothing is wrong with the call.
      defectIn('newId or the clock')(error)
      return left(notStored(call, 'newId or the clock fails'))
    }
  }
}

/** The first line of a record: the data that is not in the body. */
const Header = t.intersection([
  t.type({ id: t.string }),
  t.partial({ integrations: Integrations, orderKey: t.string, meta: t.record(t.string, t.string) }),
])

export const toText = (payload: Payload<Event>): string => {
  // A destination accepts single events only.
  if (payload.members !== undefined) throw new TypeError('a batch is no item of a destination')
  const { id, text, orderKey, meta } = payload
  const { [INTEGRATIONS]: integrations }: WaitingEvent = payload
  const more = integrations === undefined ? '' : `,"integrations":${integrations}`
  // JSON leaves out undefined members. It has no line break of its own, so the first one ends the header.
  return `${JSON.stringify({ id, orderKey, meta }).slice(0, -1)}${more}}\n${text}`
}

/** The payload of a record, with the same bytes. Throws if it is no such record. */
export const recordToEvent = (record: string): EventPayload<Event> => {
  const end = record.indexOf('\n')
  const header = Header.decode(JSON.parse(record.slice(0, Math.max(0, end))))
  const text = record.slice(end + 1)
  if (isLeft(header) || eventInStored(JSON.parse(text)) === undefined) throw new Error('not a stored event')
  const { id, integrations, orderKey, meta } = header.right
  return waitingPayload(id, text, Buffer.byteLength(text), integrations, orderKey, meta)
}

/** The memory that an event takes while it waits. */
export const heldBytesOf = (payload: Payload<Event>): number => {
  if (payload.members !== undefined) return payload.byteLength
  const { [INTEGRATIONS]: integrations = '' }: WaitingEvent = payload
  return heldBytes(payload) + 2 * integrations.length
}

/** Stores the events of a destination, in an outbox of your own. */
export const storedEvents: ItemCodec<Payload<Event>> = {
  toText,
  fromText: recordToEvent,
  kind: 'events',
  sizeOf: (payload) => payload.byteLength + metaBytes(payload),
}
