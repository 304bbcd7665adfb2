/**
 * How an event is checked: as a call that people write, as a webhook body, or as it is. A member that is wrong becomes something harmless, so
 * that all faults are found at once; the event is dropped when there are findings.
 *
 * @module
 */

import { isLeft, tryCatch } from 'fp-ts/lib/Either.js'
import { constUndefined } from 'fp-ts/lib/function.js'
import { isRecord, kindOf } from '../core/json.ts'
import type { Fields } from '../core/json.ts'
import { PROTO_KEY, UNREADABLE, copyJson, hasToJson, isJson, newLook } from './json.ts'
import type { Finding, JsonObject, Look, Step } from './json.ts'
import type * as Kinds from './model.ts'
import * as Limits from './limits.ts'
import { notATimestamp, toTimestamp } from './timestamp.ts'

type Field = keyof Kinds.Page | keyof Kinds.Track | keyof Kinds.Alias | keyof Kinds.Group

/** The members of an input, each read once. */
export type Members = Readonly<Record<Field, unknown>>

/** One form in which an event comes. */
export interface Form {
  readonly membersOf: (input: Fields, look: Look) => Members
  /** Makes what a call may leave out. Without it everything must be there. */
  readonly fill?: { readonly timestamp: () => string | undefined; readonly messageId: () => string }
  /** Whether it is a webhook body, in which a delete has no message id. */
  readonly isBody: boolean
  /** Whether only we hold the input, so that plain JSON data in it need not be copied. */
  readonly isOwned: boolean
  readonly pageNeedsUserId: boolean
}

interface Reading {
  readonly look: Look
  readonly form: Form
  readonly members: Members
}

/** The members of a call and of an event. */
export const membersOf = (input: Fields): Members => ({
  type: input['type'],
  userId: input['userId'],
  anonymousId: input['anonymousId'],
  previousId: input['previousId'],
  groupId: input['groupId'],
  event: input['event'],
  name: input['name'],
  category: input['category'],
  properties: input['properties'],
  traits: input['traits'],
  context: input['context'],
  timestamp: input['timestamp'],
  messageId: input['messageId'],
  integrations: input['integrations'],
})

const fault = ({ findings }: Look, message: string, ...steps: ReadonlyArray<Step>): void => {
  findings.push({ steps, message })
}

/** A string; undefined if it is absent or something else. */
const optionalText = ({ look, members }: Reading, field: Field): string | undefined => {
  const value = members[field]
  if (value === undefined || typeof value === 'string') return value
  fault(look, `must be a string, not ${kindOf(value)}`, field)
  return undefined
}

/** An id: `""` counts as absent, and a number is never turned into a string. */
const requiredId = (reading: Reading, field: Field): string => {
  const value = reading.members[field]
  if (value === undefined || value === '')
    fault(reading.look, 'is missing: it must be a string that is not empty', field)
  return optionalText(reading, field) ?? ''
}

const timestampOf = ({ look, form, members: { timestamp } }: Reading): string => {
  const isNow = timestamp === undefined && form.fill !== undefined
  const found = isNow ? form.fill.timestamp() : toTimestamp(timestamp)
  if (found !== undefined) return found
  const noTime = 'is missing, and the clock is outside the years 0000 to 9999'
  fault(look, isNow ? noTime : notATimestamp(timestamp), 'timestamp')
  return ''
}

const messageIdOf = (reading: Reading): string => {
  const { form, look, members } = reading
  const isNew = form.fill !== undefined && (members.messageId === undefined || members.messageId === '')
  if (isNew) return form.fill.messageId()
  const id = requiredId(reading, 'messageId')
  if (id.length > Limits.messageIdLength)
    fault(look, `must have at most ${String(Limits.messageIdLength)} characters`, 'messageId')
  return id
}

/** An object of JSON data, copied unless it is ours; undefined if it is absent. */
const optionalData = ({ look, form, members }: Reading, field: Field): JsonObject | undefined => {
  const value = members[field]
  if (value === undefined) return undefined
  if (form.isOwned && isJson(value) && isRecord(value)) return value
  const before = look.findings.length
  look.path.push(field)
  const copied = copyJson(look, value)
  look.path.pop()
  if (isRecord(copied)) return copied
  if (look.findings.length === before) fault(look, `must be an object, not ${kindOf(value)}`, field)
  return {}
}

const requiredData = (reading: Reading, field: Field): JsonObject => {
  const data = optionalData(reading, field)
  if (data === undefined && reading.form.fill === undefined)
    fault(reading.look, 'is missing: it must be an object', field)
  return data ?? {}
}

const isSwitch = (value: unknown): boolean => typeof value === 'boolean' || isRecord(value)

/** Whether a value is an integrations map that need not be copied. Never throws. */
export const isIntegrations = (value: unknown): value is Kinds.Integrations => {
  try {
    return isJson(value) && isRecord(value) && Object.values(value).every(isSwitch)
  } catch {
    // A getter may throw when it is read again.
    return false
  }
}

export const copyIntegrations = (look: Look, value: unknown): Kinds.Integrations | undefined => {
  const before = look.findings.length
  const copied = copyJson(look, value)
  if (look.findings.length > before) return undefined
  if (isIntegrations(copied)) return copied
  if (!isRecord(copied)) {
    const wanted = 'an object of destination names, each true, false or an object'
    fault(look, `must be ${wanted}, not ${kindOf(value)}`, ...look.path)
    return undefined
  }
  for (const [name, chosen] of Object.entries(copied)) {
    if (!isSwitch(chosen))
      fault(look, `must be true, false or an object, not ${kindOf(chosen)}`, ...look.path, name)
  }
  return undefined
}

const optionalIntegrations = ({ look, form, members }: Reading): Kinds.Integrations | undefined => {
  const { integrations } = members
  if (integrations === undefined || (form.isOwned && isIntegrations(integrations))) return integrations
  look.path.push('integrations')
  const copied = copyIntegrations(look, integrations)
  look.path.pop()
  return copied
}

/** An event while it is put together, key by key: spreading parts took six times as long (measured). */
type Draft = Partial<Record<Field, unknown>>

/** Sets what is there; `userId` is required, or one of the two ids. */
const readIds = (reading: Reading, draft: Draft, needsUserId: boolean): void => {
  const { findings } = reading.look
  const before = findings.length
  const userId = needsUserId ? requiredId(reading, 'userId') : optionalText(reading, 'userId')
  const anonymousId = optionalText(reading, 'anonymousId')
  if (userId !== undefined && userId !== '') draft.userId = userId
  if (anonymousId !== undefined && anonymousId !== '') draft.anonymousId = anonymousId
  if (draft.userId !== undefined || draft.anonymousId !== undefined || findings.length > before) return
  fault(reading.look, 'is missing: an event needs a userId or an anonymousId that is not empty', 'userId')
}

const setText = (reading: Reading, draft: Draft, field: 'name' | 'category'): void => {
  const text = optionalText(reading, field)
  if (text !== undefined) draft[field] = text
}

/** The named members of an object must be strings if they are there. */
const checkTexts = (
  look: Look,
  data: JsonObject,
  names: ReadonlyArray<string>,
  ...steps: ReadonlyArray<Step>
): void => {
  for (const name of names) {
    if (Object.hasOwn(data, name) && typeof data[name] !== 'string')
      fault(look, `must be a string, not ${kindOf(data[name])}`, ...steps, name)
  }
}

const PAGE_TEXTS = ['path', 'referrer', 'title', 'url']

/** The traits fill only those keys that the properties do not have. */
const pageProperties = (reading: Reading): Kinds.PageProperties => {
  const properties = requiredData(reading, 'properties')
  checkTexts(reading.look, properties, PAGE_TEXTS, 'properties')
  const traits = optionalData(reading, 'traits')
  if (traits === undefined) return properties
  const added = Object.fromEntries(Object.entries(traits).filter(([key]) => !Object.hasOwn(properties, key)))
  checkTexts(reading.look, added, PAGE_TEXTS, 'traits')
  return { ...properties, ...added }
}

const SCREEN_TEXTS = { device: ['model', 'type'], os: ['name', 'version'], app: ['build', 'name', 'version'] }

const screenContext = (reading: Reading): JsonObject => {
  const context = requiredData(reading, 'context')
  for (const [part, names] of Object.entries(SCREEN_TEXTS)) {
    if (!Object.hasOwn(context, part)) continue
    const value = context[part]
    if (isRecord(value)) checkTexts(reading.look, value, names, 'context', part)
    else fault(reading.look, `must be an object, not ${kindOf(value)}`, 'context', part)
  }
  return context
}

const readEvent = (reading: Reading, type: unknown): Kinds.Event | Kinds.Forwarded | undefined => {
  const { form, look } = reading
  if (type === 'delete') {
    const deletion = { type, userId: requiredId(reading, 'userId'), timestamp: timestampOf(reading) } as const
    return form.isBody ? deletion : { ...deletion, messageId: messageIdOf(reading) }
  }
  const event: Draft = { type, messageId: messageIdOf(reading), timestamp: timestampOf(reading) }
  switch (type) {
    case 'page':
      setText(reading, event, 'name')
      setText(reading, event, 'category')
      event.properties = pageProperties(reading)
      break
    case 'screen': {
      setText(reading, event, 'name')
      const properties = optionalData(reading, 'properties')
      if (properties !== undefined) event.properties = properties
      break
    }
    case 'identify':
      event.traits = requiredData(reading, 'traits')
      break
    case 'track':
      event.event = requiredId(reading, 'event')
      event.properties = requiredData(reading, 'properties')
      break
    case 'alias':
      event.previousId = requiredId(reading, 'previousId')
      break
    case 'group':
      event.groupId = requiredId(reading, 'groupId')
      event.traits = requiredData(reading, 'traits')
      break
    default: {
      const wanted = 'one of page, screen, identify, track, alias, group, delete'
      fault(look, type === undefined ? `is missing: it must be ${wanted}` : `must be ${wanted}`, 'type')
      for (const field of ['properties', 'traits'] as const) optionalData(reading, field)
    }
  }
  event.context = type === 'screen' ? screenContext(reading) : requiredData(reading, 'context')
  readIds(reading, event, type === 'alias' || (type === 'page' && form.pageNeedsUserId))
  const integrations = optionalIntegrations(reading)
  if (integrations !== undefined) event.integrations = integrations
  // Without findings its type is one of the seven, and it has what its kind must have.
  return event as Kinds.Event
}

const EXAMPLE = 'must be an object, such as {"type":"track","userId":"u1","event":"Signed Up"}'

/** The first member that throws when it is read; none if the input itself does. */
const throwingKey = (input: unknown): ReadonlyArray<string> => {
  const throws = (of: Fields) => (key: string) => isLeft(tryCatch(() => of[key], constUndefined))
  const found = tryCatch(
    () => (isRecord(input) ? Object.keys(input).filter(throws(input)) : []),
    constUndefined,
  )
  return isLeft(found) ? [] : found.right.slice(0, 1)
}

/** The members of an input, as JSON would see them; undefined if there is no event to make of them. */
const readMembers = (look: Look, form: Form, input: unknown): Members | undefined => {
  try {
    const meant: unknown = isRecord(input) && hasToJson(input) ? input.toJSON('') : input
    const isPlain = isRecord(meant) && Object.getPrototypeOf(meant) === Object.prototype
    if (!isRecord(meant) || (!isPlain && kindOf(meant) !== 'an object')) {
      fault(look, `${EXAMPLE}, not ${kindOf(meant)}`)
      return undefined
    }
    if (Object.hasOwn(meant, '__proto__')) fault(look, PROTO_KEY, '__proto__')
    look.parents.push(meant)
    // Only own members count.
    return form.membersOf(isPlain ? meant : { ...meant }, look)
  } catch {
    fault(look, UNREADABLE, ...throwingKey(input))
    return undefined
  }
}

/** What was found in an input; the event is of no use with findings. */
export interface Decoded {
  readonly findings: ReadonlyArray<Finding>
  readonly event: Kinds.Event | Kinds.Forwarded | undefined
}

/** Decodes an event in one of its forms. Throws only what the functions of the form throw. */
export const decode = (form: Form, input: unknown, kind?: Kinds.Kind): Decoded => {
  const look = newLook()
  const { findings } = look
  const members = readMembers(look, form, input)
  if (members === undefined) return { findings, event: undefined }
  const { type = kind } = members
  if (kind !== undefined && type !== kind)
    fault(look, `must be ${kind} or left out: the method is ${kind}`, 'type')
  return { findings, event: readEvent({ look, form, members }, kind ?? type) }
}

/** The form of the model itself: nothing is filled in, nothing is copied. */
export const modelForm: Form = { membersOf, isBody: false, isOwned: true, pageNeedsUserId: false }

/** Whether a value is an event as it is: every own member is the very one that was read, and none is missing. Never throws. */
export const isCanonical = (form: Form, input: unknown): boolean => {
  try {
    if (!isRecord(input)) return false
    const { event = {}, findings } = decode(form, input)
    const given = new Map(Object.entries(input))
    const members = Object.entries(event)
    return (
      findings.length === 0 &&
      members.length === given.size &&
      members.every(([key, value]) => given.get(key) === value)
    )
  } catch {
    // An object that answers differently when it is read again is no event.
    return false
  }
}
