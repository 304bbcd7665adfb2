/**
 * What a webhook receives. Only this file knows that an alias is written with the keys "Previous ID" and "User ID", and that every kind but
 * delete carries `version` 1.
 *
 * @module
 */

import * as t from 'io-ts'
import { isRecord } from '../core/json.ts'
import { decodeEvent, isCanonical } from './decode.ts'
import { modelFields } from './fields.ts'
import type { Form, Reading } from './fields.ts'
import { toErrors } from './json.ts'
import type { JsonObject } from './json.ts'
import type { Forwarded } from './kinds.ts'

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

const ids = ({ userId, anonymousId }: Ids): Ids => {
  if (anonymousId === undefined) return userId === undefined ? {} : { userId }
  return userId === undefined ? { anonymousId } : { userId, anonymousId }
}

type Rest = Pick<TrackBody, 'context' | 'timestamp' | 'messageId'>

const rest = ({ context, timestamp, messageId }: Rest): Rest => ({ context, timestamp, messageId })

/**
 * The body that a webhook receives for an event. It shares its data with the event, and no key has the value undefined. It leaves out
 * `integrations`, and the `messageId` of a delete.
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

const bodyFields = new Map([...modelFields].filter(([key]) => key !== 'integrations' && key !== 'previousId'))
const aliasFields = new Map([
  ...[...bodyFields].filter(([key]) => key !== 'userId'),
  ['Previous ID', 'previousId'],
  ['User ID', 'userId'],
] as const)

/** A body is complete: nothing is filled in. */
const formOf = (fields: Form['fields'], owned: boolean): Form => ({
  fields,
  complete: true,
  pageNeedsUserId: false,
  owned,
})

/** A member of something that may be anything, even an object whose getters throw. */
const memberOf = (input: unknown, key: string): unknown => {
  try {
    return isRecord(input) && Object.hasOwn(input, key) ? input[key] : undefined
  } catch {
    return undefined
  }
}

const decoder = (owned: boolean): ((input: unknown) => Reading) => {
  const body = formOf(bodyFields, owned)
  const alias = formOf(aliasFields, owned)
  return (input) => {
    const reading = decodeEvent(memberOf(input, 'type') === 'alias' ? alias : body, input)
    if (reading.event === undefined) return reading
    const version = memberOf(input, 'version')
    const isDelete = reading.event.type === 'delete'
    if (isDelete ? version !== undefined : version !== 1)
      reading.findings.push({
        steps: ['version'],
        message: isDelete ? 'must be left out of a delete' : 'must be the number 1',
      })
    return reading
  }
}

const decodeCopied = decoder(false)
const decodeOwned = decoder(true)

/** The event in a body that comes straight from `JSON.parse`, whose data are not copied. Undefined if it is none. */
export const eventInOwned = (body: unknown): Forwarded | undefined => {
  const { event, findings } = decodeOwned(body)
  return findings.length > 0 ? undefined : event
}

/**
 * The codec between bodies and events, for receivers and for stores. `decode` then `encode` gives back every body that headrace sends;
 * `encode` then `decode` gives back the event.
 */
export const WebhookBody: t.Type<Forwarded, WireBody> = new t.Type(
  'WebhookBody',
  (value): value is Forwarded => isCanonical(value),
  (input, context) => {
    const { event, findings } = decodeCopied(input)
    return event === undefined || findings.length > 0
      ? t.failures(toErrors(findings, context))
      : t.success(event)
  },
  toWebhookBody,
)
