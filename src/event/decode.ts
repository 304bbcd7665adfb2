/**
 * Decodes one event from one of its forms: a call, a webhook body, the model itself. All faults are found at once.
 *
 * @module
 */

import { isRecord, kindOf } from '../core/json.ts'
import {
  checkTexts,
  copyAt,
  copyIntegrations,
  fault,
  isIntegrations,
  messageIdOf,
  modelFields,
  newReading,
  optionalData,
  optionalId,
  optionalText,
  requiredData,
  requiredId,
  timestampOf,
} from './fields.ts'
import type { DecodedEvent, Form, Reading } from './fields.ts'
import { hasToJson } from './json.ts'
import type { JsonObject, Step } from './json.ts'
import type * as Kinds from './kinds.ts'

/** An event while it is put together. */
type Draft<E> = { -readonly [Key in keyof E]: E[Key] }

type Optional = 'userId' | 'anonymousId' | 'name' | 'category'

/** Sets an optional text, and leaves the key out if there is none. */
const setText = (
  draft: Partial<Record<Optional, string>>,
  field: Optional,
  text: string | undefined,
): void => {
  if (text !== undefined) draft[field] = text
}

/** Sets the ids that are known; one of the two must be. */
const setIds = (reading: Reading, draft: Draft<Pick<Kinds.Track, 'userId' | 'anonymousId'>>): void => {
  const before = reading.findings.length
  setText(draft, 'userId', optionalId(reading, 'userId'))
  setText(draft, 'anonymousId', optionalId(reading, 'anonymousId'))
  if (draft.userId === undefined && draft.anonymousId === undefined && reading.findings.length === before)
    fault(reading, 'userId', 'is missing: an event needs a userId or an anonymousId that is not empty')
}

const setIntegrations = (reading: Reading, draft: Draft<Pick<Kinds.Track, 'integrations'>>): void => {
  const value = reading.fields.integrations
  if (value === undefined) return
  if (reading.form.owned && isIntegrations(value)) {
    draft.integrations = value
    return
  }
  const copied = copyAt(reading, 'integrations', copyIntegrations)
  if (copied !== undefined) draft.integrations = copied
}

const PAGE_TEXTS = ['path', 'referrer', 'title', 'url']

/** The traits fill only those keys that the properties do not have. */
const pageProperties = (reading: Reading): Kinds.PageProperties => {
  const properties = requiredData(reading, 'properties')
  checkTexts(reading, properties, PAGE_TEXTS, 'properties')
  const traits = optionalData(reading, 'traits')
  if (traits === undefined) return properties
  const added = Object.fromEntries(Object.entries(traits).filter(([key]) => !Object.hasOwn(properties, key)))
  checkTexts(reading, added, PAGE_TEXTS, 'traits')
  return { ...properties, ...added }
}

const readPage = (reading: Reading): Kinds.Page => {
  const page: Draft<Kinds.Page> = {
    type: 'page',
    messageId: messageIdOf(reading),
    timestamp: timestampOf(reading),
    properties: pageProperties(reading),
    context: requiredData(reading, 'context'),
  }
  if (reading.form.pageNeedsUserId) {
    page.userId = requiredId(reading, 'userId')
    setText(page, 'anonymousId', optionalId(reading, 'anonymousId'))
  } else setIds(reading, page)
  setText(page, 'name', optionalText(reading, 'name'))
  setText(page, 'category', optionalText(reading, 'category'))
  setIntegrations(reading, page)
  return page
}

const SCREEN_TEXTS: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
  ['device', ['model', 'type']],
  ['os', ['name', 'version']],
  ['app', ['build', 'name', 'version']],
]

const checkScreen = (reading: Reading, context: JsonObject): void => {
  for (const [part, names] of SCREEN_TEXTS) {
    if (!Object.hasOwn(context, part)) continue
    const value = context[part]
    if (isRecord(value)) checkTexts(reading, value, names, 'context', part)
    else fault(reading, 'context', `must be an object, not ${kindOf(value)}`, part)
  }
}

const readScreen = (reading: Reading): Kinds.Screen => {
  const screen: Draft<Kinds.Screen> = {
    type: 'screen',
    messageId: messageIdOf(reading),
    timestamp: timestampOf(reading),
    context: requiredData(reading, 'context'),
  }
  checkScreen(reading, screen.context)
  setIds(reading, screen)
  setText(screen, 'name', optionalText(reading, 'name'))
  const properties = optionalData(reading, 'properties')
  if (properties !== undefined) screen.properties = properties
  setIntegrations(reading, screen)
  return screen
}

const readIdentify = (reading: Reading): Kinds.Identify => {
  const event: Draft<Kinds.Identify> = {
    type: 'identify',
    messageId: messageIdOf(reading),
    timestamp: timestampOf(reading),
    traits: requiredData(reading, 'traits'),
    context: requiredData(reading, 'context'),
  }
  setIds(reading, event)
  setIntegrations(reading, event)
  return event
}

const readTrack = (reading: Reading): Kinds.Track => {
  const track: Draft<Kinds.Track> = {
    type: 'track',
    messageId: messageIdOf(reading),
    timestamp: timestampOf(reading),
    event: requiredId(reading, 'event'),
    properties: requiredData(reading, 'properties'),
    context: requiredData(reading, 'context'),
  }
  setIds(reading, track)
  setIntegrations(reading, track)
  return track
}

const readAlias = (reading: Reading): Kinds.Alias => {
  const alias: Draft<Kinds.Alias> = {
    type: 'alias',
    messageId: messageIdOf(reading),
    timestamp: timestampOf(reading),
    previousId: requiredId(reading, 'previousId'),
    userId: requiredId(reading, 'userId'),
    context: requiredData(reading, 'context'),
  }
  setText(alias, 'anonymousId', optionalId(reading, 'anonymousId'))
  setIntegrations(reading, alias)
  return alias
}

const readGroup = (reading: Reading): Kinds.Group => {
  const group: Draft<Kinds.Group> = {
    type: 'group',
    messageId: messageIdOf(reading),
    timestamp: timestampOf(reading),
    groupId: requiredId(reading, 'groupId'),
    traits: requiredData(reading, 'traits'),
    context: requiredData(reading, 'context'),
  }
  setIds(reading, group)
  setIntegrations(reading, group)
  return group
}

const readDelete = (reading: Reading): Kinds.ForwardedDelete => ({
  type: 'delete',
  userId: requiredId(reading, 'userId'),
  timestamp: timestampOf(reading),
})

/** Without a kind, what all kinds have in common is checked all the same. */
const checkUnknown = (reading: Reading): void => {
  const wanted = 'one of page, screen, identify, track, alias, group, delete'
  const isMissing = reading.fields.type === undefined
  fault(reading, 'type', isMissing ? `is missing: it must be ${wanted}` : `must be ${wanted}`)
  setIds(reading, {})
  timestampOf(reading)
  messageIdOf(reading)
  for (const field of ['properties', 'traits', 'context'] as const) optionalData(reading, field)
  setIntegrations(reading, {})
}

const eventOf = (reading: Reading): DecodedEvent | undefined => {
  switch (reading.fields.type) {
    case 'page':
      return readPage(reading)
    case 'screen':
      return readScreen(reading)
    case 'identify':
      return readIdentify(reading)
    case 'track':
      return readTrack(reading)
    case 'alias':
      return readAlias(reading)
    case 'group':
      return readGroup(reading)
    case 'delete':
      return readDelete(reading)
    default:
      checkUnknown(reading)
      return undefined
  }
}

/** Its prototype answers for most objects: looking for each of the others takes longer. */
const isOrdinary = (value: object): boolean =>
  Object.getPrototypeOf(value) === Object.prototype ||
  !(value instanceof Map || value instanceof Set || value instanceof Date)

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !ArrayBuffer.isView(value) &&
  isOrdinary(value)

const fail = (reading: Reading, message: string, ...steps: ReadonlyArray<Step>): false => {
  reading.findings.push({ steps, message })
  return false
}

const UNREADABLE = 'could not be read: looking at it throws an error'

const readMembers = (reading: Reading, members: object): boolean => {
  let isReadable = true
  for (const key of Object.keys(members)) {
    if (key === '__proto__') fail(reading, 'is a key that receivers refuse: rename it', key)
    const field = reading.form.fields.get(key)
    if (field === undefined) continue
    try {
      // Sound for every object: the member stays unknown.
      reading.fields[field] = (members as Readonly<Record<string, unknown>>)[key]
    } catch {
      isReadable = fail(reading, UNREADABLE, key)
    }
  }
  reading.parents.push(members)
  return isReadable
}

const EXAMPLE = 'must be an object, such as {"type":"track","userId":"u1","event":"Signed Up"}'

/** Reads the members of an input once each, as JSON would see them. False if there is no event to make of them. */
const readInput = (reading: Reading, input: unknown): boolean => {
  let members: unknown = input
  try {
    if (!isPlain(input)) return fail(reading, `${EXAMPLE}, not ${kindOf(input)}`)
    if (hasToJson(input)) {
      try {
        members = input.toJSON('')
      } catch {
        return fail(reading, 'has a toJSON that throws an error')
      }
    }
    return isPlain(members)
      ? readMembers(reading, members)
      : fail(reading, `${EXAMPLE}, not ${kindOf(members)}`)
  } catch {
    return fail(reading, UNREADABLE)
  }
}

/** Decodes an event in one of its forms. Throws only what the functions of the form throw. */
export const decodeEvent = (form: Form, input: unknown, kind?: Kinds.Kind): Reading => {
  const reading = newReading(form)
  const isReadable = readInput(reading, input)
  const { type } = reading.fields
  if (kind !== undefined) {
    if (type !== undefined && type !== kind)
      fail(reading, `must be ${kind} or left out: the method is ${kind}`, 'type')
    reading.fields.type = kind
  }
  if (isReadable) reading.event = eventOf(reading)
  return reading
}

/** The form of the model itself: nothing is filled in, nothing is copied. */
const modelForm: Form = { fields: modelFields, complete: true, pageNeedsUserId: false, owned: true }

/**
 * Whether a value is an event in its canonical form: every own member is the very one that was read, so nothing was filled in, moved, cut or
 * left out. `completed` may add the message id of a delete. Never throws.
 */
export const isCanonical = (
  input: unknown,
  completed: (reading: Reading) => object | undefined = ({ event }) => event,
): boolean => {
  if (typeof input !== 'object' || input === null) return false
  try {
    const reading = decodeEvent(modelForm, input)
    const event = completed(reading)
    if (event === undefined || reading.findings.length > 0) return false
    const given = new Map<string, unknown>(Object.entries(input))
    const members = Object.entries(event)
    return members.length === given.size && members.every(([key, value]) => given.get(key) === value)
  } catch {
    // An object that answers differently when it is read again is no event.
    return false
  }
}
