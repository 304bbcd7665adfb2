/**
 * Decodes one event from one of its forms: a call, a webhook body, the model itself. All faults are found at once: a member that is wrong
 * becomes something harmless, and the event is dropped when there are findings.
 *
 * @module
 */

import { isRecord, kindOf } from '../core/json.ts'
import { copyJson, hasToJson, isJson, newLook } from './json.ts'
import type { JsonObject, Look, Step } from './json.ts'
import type * as Kinds from './kinds.ts'
import type { Integrations } from './kinds.ts'
import * as Limits from './limits.ts'
import { notATimestamp, toTimestamp } from './timestamp.ts'

/** The members of an event by their names in the model, as they were found. Undefined is absent. */
const noFields = (): Record<Field, unknown> => ({
  type: undefined,
  userId: undefined,
  anonymousId: undefined,
  previousId: undefined,
  groupId: undefined,
  event: undefined,
  name: undefined,
  category: undefined,
  properties: undefined,
  traits: undefined,
  context: undefined,
  timestamp: undefined,
  messageId: undefined,
  integrations: undefined,
})

/** The name of a member in the model. */
export type Field =
  | 'type'
  | 'userId'
  | 'anonymousId'
  | 'previousId'
  | 'groupId'
  | 'event'
  | 'name'
  | 'category'
  | 'properties'
  | 'traits'
  | 'context'
  | 'timestamp'
  | 'messageId'
  | 'integrations'

/** One form of an event. */
export interface Form {
  /** The member that stands under a key. Other keys are ignored. */
  readonly fields: ReadonlyMap<string, Field>
  /** The timestamp of an event that has none; undefined: it must have one. */
  readonly timestamp?: () => string | undefined
  /** The id of an event that has none; undefined: it must have one. */
  readonly messageId?: () => string
  /** Whether `context`, `properties` and `traits` must be there; else what is missing is empty. */
  readonly complete: boolean
  /** Whether a page must have a userId; else an anonymousId is enough. */
  readonly pageNeedsUserId: boolean
  /** Whether only we hold the input, so that plain JSON data in it need not be copied. */
  readonly owned: boolean
}

/** One event while it is decoded. */
export interface Reading extends Look {
  readonly form: Form
  readonly fields: Record<Field, unknown>
  /** The event that the fields make; undefined if its kind is unknown or the input cannot be read. Of no use with findings. */
  event: DecodedEvent | undefined
}

/** A delete has its message id beside the body. */
export type DecodedEvent = Exclude<Kinds.Event, Kinds.Delete> | Kinds.ForwardedDelete

/** The keys of the model, each for the member of the same name. */
export const modelFields: ReadonlyMap<string, Field> = new Map(
  // `Object.keys` widens the type of the keys.
  (Object.keys(noFields()) as Field[]).map((field) => [field, field]),
)

const labelOf = ({ form }: Reading, field: Field): string => {
  if (form.fields.get(field) === field) return field
  for (const [key, held] of form.fields) if (held === field) return key
  return field
}

const fault = (reading: Reading, field: Field, message: string, ...below: ReadonlyArray<Step>): void => {
  reading.findings.push({ steps: [labelOf(reading, field), ...below], message })
}

/** A string; undefined if it is absent or something else. */
const optionalText = (reading: Reading, field: Field): string | undefined => {
  const value = reading.fields[field]
  if (typeof value === 'string') return value
  if (value !== undefined) fault(reading, field, `must be a string, not ${kindOf(value)}`)
  return undefined
}

/** An id: `""` counts as absent, and a number is never turned into a string. */
const optionalId = (reading: Reading, field: Field): string | undefined => {
  const text = optionalText(reading, field)
  return text === '' ? undefined : text
}

const requiredId = (reading: Reading, field: Field): string => {
  const text = optionalText(reading, field)
  if (text !== undefined && text !== '') return text
  if (text === '' || reading.fields[field] === undefined)
    fault(reading, field, 'is missing: it must be a string that is not empty')
  return ''
}

const timestampOf = (reading: Reading): string => {
  const value = reading.fields.timestamp
  if (value === undefined && reading.form.timestamp !== undefined) {
    const now = reading.form.timestamp()
    if (now === undefined)
      fault(reading, 'timestamp', 'is missing, and the clock is outside the years 0000 to 9999')
    return now ?? ''
  }
  const found = toTimestamp(value)
  if (found === undefined) fault(reading, 'timestamp', notATimestamp(value))
  return found ?? ''
}

/** The message id; `""` counts as absent. */
export const messageIdOf = (reading: Reading): string => {
  const { messageId } = reading.form
  const id = messageId === undefined ? requiredId(reading, 'messageId') : optionalId(reading, 'messageId')
  if (id === undefined) return messageId?.() ?? ''
  if (id.length > Limits.messageIdLength)
    fault(reading, 'messageId', `must have at most ${String(Limits.messageIdLength)} characters`)
  return id
}

const copyAt = <A>(reading: Reading, field: Field, copy: (look: Look, value: unknown) => A): A => {
  reading.path.push(labelOf(reading, field))
  const copied = copy(reading, reading.fields[field])
  reading.path.pop()
  return copied
}

const NOTHING: JsonObject = Object.freeze({})

/** An object of JSON data, copied unless it is ours; undefined if it is absent. */
const optionalData = (reading: Reading, field: Field): JsonObject | undefined => {
  const value = reading.fields[field]
  if (value === undefined) return undefined
  if (reading.form.owned && isJson(value, 1) && isRecord(value)) return value
  const before = reading.findings.length
  const copied = copyAt(reading, field, copyJson)
  if (isRecord(copied)) return copied
  if (reading.findings.length === before) fault(reading, field, `must be an object, not ${kindOf(value)}`)
  return NOTHING
}

const requiredData = (reading: Reading, field: Field): JsonObject => {
  const data = optionalData(reading, field)
  if (data !== undefined) return data
  if (reading.form.complete) fault(reading, field, 'is missing: it must be an object')
  return {}
}

/** The named members of an object must be strings if they are there. */
const checkTexts = (
  reading: Reading,
  data: JsonObject,
  names: ReadonlyArray<string>,
  field: Field,
  ...below: ReadonlyArray<Step>
): void => {
  for (const name of names) {
    if (!Object.hasOwn(data, name) || typeof data[name] === 'string') continue
    fault(reading, field, `must be a string, not ${kindOf(data[name])}`, ...below, name)
  }
}

const isSwitch = (value: unknown): boolean => typeof value === 'boolean' || isRecord(value)

/** Whether a value is an integrations map that need not be copied. Never throws. */
export const isIntegrations = (value: unknown): value is Integrations => {
  try {
    return isJson(value, 1) && isRecord(value) && Object.values(value).every(isSwitch)
  } catch {
    // A getter may throw when it is read again.
    return false
  }
}

/** A copy of an integrations map; undefined with findings. */
export const copyIntegrations = (look: Look, value: unknown): Integrations | undefined => {
  const before = look.findings.length
  const copied = copyJson(look, value)
  if (look.findings.length > before) return undefined
  if (isIntegrations(copied)) return copied
  if (isRecord(copied)) {
    for (const [name, chosen] of Object.entries(copied)) {
      const message = `must be true, false or an object, not ${kindOf(chosen)}`
      if (!isSwitch(chosen)) look.findings.push({ steps: [...look.path, name], message })
    }
  } else {
    const wanted = 'an object of destination names, each true, false or an object'
    look.findings.push({ steps: [...look.path], message: `must be ${wanted}, not ${kindOf(value)}` })
  }
  return undefined
}

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
const readUnknown = (reading: Reading): undefined => {
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
      return readUnknown(reading)
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
  const reading: Reading = { ...newLook(), form, fields: noFields(), event: undefined }
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
