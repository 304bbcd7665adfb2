/**
 * What a webhook receives (EV2, seed/A2). Only this file knows that an alias is written with the keys "Previous ID" and
 * "User ID" and that every kind but delete carries `version` 1.
 *
 * @module
 */

import * as t from 'io-ts'
import { isLeft } from 'fp-ts/lib/Either.js'
import { gather } from './codecFaults.ts'
import { isCanonical, readKind } from './decode.ts'
import { toErrors } from './json.ts'
import type { JsonObject } from './json.ts'
import type { Forwarded } from './kinds.ts'
import { isField, reading } from './reading.ts'
import type { Field, Form, Reading } from './reading.ts'

interface Body<Type extends string> {
  readonly version: 1
  readonly type: Type
  readonly anonymousId?: string
  readonly context: JsonObject
  readonly timestamp: string
  readonly messageId: string
}

interface IdentifiedBody<Type extends string> extends Body<Type> {
  readonly userId?: string
}

export interface PageBody extends IdentifiedBody<'page'> {
  readonly name?: string
  readonly category?: string
  readonly properties: JsonObject
}

export interface ScreenBody extends IdentifiedBody<'screen'> {
  readonly name?: string
  readonly properties?: JsonObject
}

export interface IdentifyBody extends IdentifiedBody<'identify'> {
  readonly traits: JsonObject
}

export interface TrackBody extends IdentifiedBody<'track'> {
  readonly event: string
  readonly properties: JsonObject
}

export interface AliasBody extends Body<'alias'> {
  readonly 'Previous ID': string
  readonly 'User ID': string
}

export interface GroupBody extends IdentifiedBody<'group'> {
  readonly groupId: string
  readonly traits: JsonObject
}

/** Has no version, no context and no message id. */
export interface DeleteBody {
  readonly type: 'delete'
  readonly userId: string
  readonly timestamp: string
}

/** The JSON object that is posted to a webhook. */
export type WireBody = PageBody | ScreenBody | IdentifyBody | TrackBody | AliasBody | GroupBody | DeleteBody

type Ids = Pick<TrackBody, 'userId' | 'anonymousId'>

/** Both ids when both are known, and no key without a value (EV2). */
const ids = ({ userId, anonymousId }: Ids): Ids => {
  if (anonymousId === undefined) return userId === undefined ? {} : { userId }
  return userId === undefined ? { anonymousId } : { userId, anonymousId }
}

type Rest = Pick<TrackBody, 'context' | 'timestamp' | 'messageId'>

const rest = ({ context, timestamp, messageId }: Rest): Rest => ({ context, timestamp, messageId })

/**
 * The body that a webhook receives for an event (EV2). It shares its data with the event and has no key with an undefined
 * value. What travels beside the body is left out: `integrations`, and the `messageId` of a delete.
 *
 * @example
 * import { toWebhookBody } from 'headrace'
 * import type { Event } from 'headrace'
 *
 * const event: Event = { type: 'delete', userId: 'u1', timestamp: '2024-02-29T12:00:00.000Z', messageId: 'm1' }
 * console.log(JSON.stringify(toWebhookBody(event)))
 * // => {"type":"delete","userId":"u1","timestamp":"2024-02-29T12:00:00.000Z"}
 */
export const toWebhookBody = (event: Forwarded): WireBody => {
  switch (event.type) {
    case 'page': {
      const { name, category, properties } = event
      return {
        version: 1,
        type: 'page',
        ...ids(event),
        ...(name === undefined ? undefined : { name }),
        ...(category === undefined ? undefined : { category }),
        properties,
        ...rest(event),
      }
    }
    case 'screen': {
      const { name, properties } = event
      return {
        version: 1,
        type: 'screen',
        ...ids(event),
        ...(name === undefined ? undefined : { name }),
        ...(properties === undefined ? undefined : { properties }),
        ...rest(event),
      }
    }
    case 'identify':
      return { version: 1, type: 'identify', ...ids(event), traits: event.traits, ...rest(event) }
    case 'track': {
      const { event: name, properties } = event
      return { version: 1, type: 'track', ...ids(event), event: name, properties, ...rest(event) }
    }
    case 'alias': {
      const { previousId, userId, anonymousId } = event
      return {
        version: 1,
        type: 'alias',
        'Previous ID': previousId,
        'User ID': userId,
        ...(anonymousId === undefined ? undefined : { anonymousId }),
        ...rest(event),
      }
    }
    case 'group': {
      const { groupId, traits } = event
      return { version: 1, type: 'group', ...ids(event), groupId, traits, ...rest(event) }
    }
    case 'delete':
      return { type: 'delete', userId: event.userId, timestamp: event.timestamp }
  }
}

const NOT_ON_THE_WIRE: ReadonlySet<Field> = new Set(['integrations', 'previousId'])

/** Everything must be there: a body is complete, and a receiver makes nothing up. */
const bodyForm = (owned: boolean): Form => ({
  fieldOf: (key) => (isField(key) && !NOT_ON_THE_WIRE.has(key) ? key : undefined),
  label: (field) => field,
  timestamp: undefined,
  messageId: undefined,
  complete: true,
  pageNeedsUserId: false,
  owned,
})

const aliasForm = (body: Form): Form => ({
  ...body,
  fieldOf: (key) => {
    if (key === 'Previous ID') return 'previousId'
    if (key === 'User ID') return 'userId'
    return key === 'userId' ? undefined : body.fieldOf(key)
  },
  label: (field) => {
    if (field === 'previousId') return 'Previous ID'
    return field === 'userId' ? 'User ID' : field
  },
})

/** A member of something that may be anything, even of an object that does not want to be looked at. */
const memberOf = (input: unknown, key: string): unknown => {
  try {
    if (typeof input !== 'object' || input === null || !Object.hasOwn(input, key)) return undefined
    // Sound for every object: it is read by a key of its own, and what stands there stays unknown.
    return (input as Readonly<Record<string, unknown>>)[key]
  } catch {
    return undefined
  }
}

const checkVersion = (look: Reading, input: unknown): void => {
  const version = memberOf(input, 'version')
  const isDelete = look.fields.type === 'delete'
  if (isDelete ? version === undefined : version === 1) return
  const message = isDelete ? 'must be left out of a delete' : 'must be the number 1'
  look.findings.push({ steps: ['version'], message })
}

const decoder = (owned: boolean): t.Validate<unknown, Forwarded> => {
  const body = bodyForm(owned)
  const alias = aliasForm(body)
  return (input, context) => {
    const look = reading(memberOf(input, 'type') === 'alias' ? alias : body)
    const event = gather(look, input) ? readKind(look) : undefined
    if (event !== undefined) checkVersion(look, input)
    return event === undefined || look.findings.length > 0
      ? t.failures(toErrors(look.findings, context))
      : t.success(event)
  }
}

const decodeOwned = decoder(true)

/**
 * The event in a body that comes straight from `JSON.parse` and that nobody else holds: its data are not copied. Undefined if it is
 * none.
 */
export const eventInOwned = (body: unknown): Forwarded | undefined => {
  const event = decodeOwned(body, [])
  return isLeft(event) ? undefined : event.right
}

/**
 * The codec between bodies and events, for receivers and for stores. `decode` then `encode` gives back every body that headrace
 * sends; `encode` then `decode` gives back the event (EV6).
 */
export const WebhookBody: t.Type<Forwarded, WireBody> = new t.Type(
  'WebhookBody',
  (value): value is Forwarded => isCanonical(value, readKind),
  decoder(false),
  toWebhookBody,
)
