/**
 * What a webhook receives. Only this file knows that an alias is written with the keys "Previous ID" and "User ID", and that every kind but
 * delete carries `version` 1.
 *
 * @module
 */

import * as t from 'io-ts'
import { toErrors } from './json.ts'
import type { Alias, Forwarded, ForwardedDelete, Group, Identify, Page, Screen, Track } from './model.ts'
import { decode, isCanonical, membersOf, modelForm } from './checkEvent.ts'
import type { Decoded, Form } from './checkEvent.ts'

/** An event as it is written: `integrations` is left out. */
type Body<E> = Readonly<{ version: 1 } & Omit<E, 'integrations'>>

/** The body of a page. @useDeclaredType */
export type PageBody = Body<Page>
/** The body of a screen. @useDeclaredType */
export type ScreenBody = Body<Screen>
/** The body of an identify. @useDeclaredType */
export type IdentifyBody = Body<Identify>
/** The body of a track. @useDeclaredType */
export type TrackBody = Body<Track>
/** The body of an alias, with two keys of its own. */
export type AliasBody = Body<Omit<Alias, 'previousId' | 'userId'>> & {
  readonly 'Previous ID': string
  readonly 'User ID': string
}
/** The body of a group. @useDeclaredType */
export type GroupBody = Body<Group>

/** Has no version, no context and no message id. */
export type DeleteBody = ForwardedDelete

/** The JSON object that is posted to a webhook. */
export type WireBody = PageBody | ScreenBody | IdentifyBody | TrackBody | AliasBody | GroupBody | DeleteBody

type KeysOf<B> = B extends unknown ? keyof B : never

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
      if (event.type === 'page' && event.category !== undefined) body.category = event.category
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

const ALIAS_KEYS: Readonly<Record<string, string>> = { previousId: 'Previous ID', userId: 'User ID' }

const bodyForm: Form = {
  ...modelForm,
  isBody: true,
  membersOf: (input, { findings }) => {
    const { type, version } = input
    const isDelete = type === 'delete'
    if (isDelete ? version !== undefined : version !== 1) {
      const message = isDelete ? 'must be left out of a delete' : 'must be the number 1'
      findings.push({ steps: ['version'], message })
    }
    const members = { ...membersOf(input), integrations: undefined }
    if (type !== 'alias') return members
    return { ...members, previousId: input['Previous ID'], userId: input['User ID'] }
  },
}
const copiedForm: Form = { ...bodyForm, isOwned: false }

const decodeBody = (form: Form, input: unknown): Decoded => {
  const { event, findings } = decode(form, input)
  if (event?.type !== 'alias') return { event, findings }
  const named = findings.map(({ steps: [key = '', ...below], message }) => ({
    steps: [ALIAS_KEYS[key] ?? key, ...below],
    message,
  }))
  return { event, findings: named }
}

/** The event in a body that comes straight from `JSON.parse`, whose data are not copied. Undefined if it is none. */
export const eventInOwned = (body: unknown): Forwarded | undefined => {
  const { event, findings } = decodeBody(bodyForm, body)
  return findings.length > 0 ? undefined : event
}

/**
 * The codec between bodies and events, for receivers and for stores. `decode` then `encode` gives back every body that headrace sends;
 * `encode` then `decode` gives back the event.
 */
export const WebhookBody: t.Type<Forwarded, WireBody> = new t.Type(
  'WebhookBody',
  (value): value is Forwarded => isCanonical({ ...modelForm, isBody: true }, value),
  (input, context) => {
    const { event, findings } = decodeBody(copiedForm, input)
    return event === undefined || findings.length > 0
      ? t.failures(toErrors(findings, context))
      : t.success(event)
  },
  toWebhookBody,
)
