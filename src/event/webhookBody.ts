/**
 * The body of a webhook. Only this file knows that an alias is written with the keys "Previous ID" and "User
 * ID", and that every kind but delete carries `version` 1.
 */
import * as t from 'io-ts'
import { map, valueOr } from '../core/either.ts'
import { isRecord } from '../core/json.ts'
import { closedRecord, members, type Forwarded, type KeysOf } from './model.ts'

const versioned = <const R extends t.Props, const O extends t.Props>(name: string, required: R, other: O) =>
  closedRecord(name, { version: t.literal(1), ...required }, other)

const [{ previousId, userId, ...alias }, optional] = members.alias

const PageBody = versioned('PageBody', ...members.page)
const ScreenBody = versioned('ScreenBody', ...members.screen)
const IdentifyBody = versioned('IdentifyBody', ...members.identify)
const TrackBody = versioned('TrackBody', ...members.track)
const AliasBody = versioned('AliasBody', { ...alias, 'Previous ID': previousId, 'User ID': userId }, optional)
const GroupBody = versioned('GroupBody', ...members.group)
const DeleteBody = closedRecord('DeleteBody', ...members.delete)

/** The JSON object that is posted to a webhook, of one of seven kinds. */
export const WireBody = t.union(
  [PageBody, ScreenBody, IdentifyBody, TrackBody, AliasBody, GroupBody, DeleteBody],
  'WireBody',
)
export type WireBody = t.TypeOf<typeof WireBody>

/**
 * The body that a webhook receives for an event. It shares its data with the event, and no key has the value
 * undefined. It leaves out `integrations`, and the `messageId` of a delete.
 *
 * @example
 * import { toWebhookBody } from 'headrace/events'
 * import type { Event } from 'headrace/events'
 *
 * const timestamp = '2024-02-29T12:00:00.000Z'
 * const event: Event = { type: 'delete', userId: 'u1', timestamp, messageId: 'm1' }
 * console.log(JSON.stringify(toWebhookBody(event)))
 * // => {"type":"delete","userId":"u1","timestamp":"2024-02-29T12:00:00.000Z"}
 */
export const toWebhookBody = (event: Forwarded): WireBody => {
  if (event.type === 'delete') return { type: 'delete', userId: event.userId, timestamp: event.timestamp }
  // Key by key, in the order in which they are sent: spreading parts took ten times as long (measured).
  const body: Partial<Record<KeysOf<WireBody>, unknown>> = { version: 1, type: event.type }
  if (event.type === 'alias') {
    body['Previous ID'] = event.previousId
    body['User ID'] = event.userId
  } else if (event.userId !== undefined) body.userId = event.userId
  if (event.anonymousId !== undefined) body.anonymousId = event.anonymousId
  switch (event.type) {
    case 'page':
    case 'screen':
      if (event.name !== undefined) body.name = event.name
      if (event.category !== undefined) body.category = event.category
      if (event.properties !== undefined) body.properties = event.properties
      break
    case 'track':
      body.event = event.event
      body.properties = event.properties
      break
    case 'group':
      body.groupId = event.groupId
      body.traits = event.traits
      break
    case 'identify':
      body.traits = event.traits
      break
    case 'alias':
  }
  body.context = event.context
  body.timestamp = event.timestamp
  body.messageId = event.messageId
  // It has the keys of its kind, with the event's own values.
  return body as WireBody
}

const fromWire = (body: WireBody): Forwarded => {
  if (body.type === 'delete') return body
  const { version: _version, ...event } = body
  if (event.type !== 'alias') return event
  const { 'Previous ID': previousId, 'User ID': userId, ...alias } = event
  return { ...alias, previousId, userId }
}

/** The event in a stored body of our own: its members are not checked again. Undefined for other bodies. */
export const eventInStored = (body: unknown): Forwarded | undefined =>
  // The store has a checksum, so a body that names a kind is as it was written.
  isRecord(body) && Object.hasOwn(members, String(body['type'])) ? fromWire(body as WireBody) : undefined

/**
 * The codec between bodies and events, for receivers and for stores. `decode` then `encode` gives back every
 * body that headrace sends; `encode` then `decode` gives back the event.
 */
export const WebhookBody: t.Type<Forwarded, WireBody> = new t.Type(
  'WebhookBody',
  (value): value is Forwarded =>
    // A value that is no event makes no body.
    valueOr(false, () => WireBody.is(toWebhookBody(value as Forwarded))),
  (input, context) => {
    // Its faults are those of the union, which name `type` and the kinds.
    const place = context.map((entry) => (entry === context.at(-1) ? { ...entry, type: WireBody } : entry))
    return map(fromWire)(WireBody.validate(input, place))
  },
  toWebhookBody,
)
