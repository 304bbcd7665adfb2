import { isRecord } from '../core/json.ts'
import { gather } from './codecFaults.ts'
import { Integrations, readIntegrations } from './integrations.ts'
import { kindOf } from '../core/json.ts'
import type { JsonObject } from './json.ts'
import type {
  Alias,
  Delete,
  Event,
  ForwardedDelete,
  Group,
  Identify,
  Page,
  PageProperties,
  Screen,
  Track,
} from './kinds.ts'
import {
  dataOf,
  fault,
  messageIdOf,
  namedTexts,
  optionalData,
  optionalId,
  optionalText,
  requiredId,
  timestampOf,
  isField,
  reading,
} from './reading.ts'
import type { Reading, Form } from './reading.ts'

/** An event while it is put together. */
type Draft<E> = { -readonly [Key in keyof E]: E[Key] }

const PAGE_TEXTS = ['path', 'referrer', 'title', 'url']
const SCREEN_TEXTS: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
  ['device', ['model', 'type']],
  ['os', ['name', 'version']],
  ['app', ['build', 'name', 'version']],
]

/** Sets the ids that are known; one of the two must be (seed/B2). */
const identify = (look: Reading, draft: Draft<Pick<Track, 'userId' | 'anonymousId'>>): void => {
  const before = look.findings.length
  const userId = optionalId(look, 'userId')
  const anonymousId = optionalId(look, 'anonymousId')
  if (userId !== undefined) draft.userId = userId
  if (anonymousId !== undefined) draft.anonymousId = anonymousId
  if (userId === undefined && anonymousId === undefined && look.findings.length === before) {
    fault(look, 'userId', 'is missing: an event needs a userId or an anonymousId that is not empty')
  }
}

const setAnonymousId = (look: Reading, draft: Draft<Pick<Alias, 'anonymousId'>>): void => {
  const anonymousId = optionalId(look, 'anonymousId')
  if (anonymousId !== undefined) draft.anonymousId = anonymousId
}

const setName = (look: Reading, draft: Draft<Pick<Page, 'name'>>): void => {
  const name = optionalText(look, 'name')
  if (name !== undefined) draft.name = name
}

const setIntegrations = (look: Reading, draft: Draft<Pick<Track, 'integrations'>>): void => {
  const value = look.fields.integrations
  if (value === undefined) return
  draft.integrations =
    look.form.owned && Integrations.is(value)
      ? value
      : readIntegrations(value, look.form.label('integrations'), undefined, look)
}

/** Traits fill only those keys that the properties do not have (EV4). */
const pageProperties = (look: Reading): PageProperties => {
  const properties = dataOf(look, 'properties')
  namedTexts(look, properties, PAGE_TEXTS, 'properties')
  const traits = optionalData(look, 'traits')
  if (traits === undefined) return properties
  const filled: Record<string, JsonObject[string]> = { ...properties }
  const filling: Record<string, JsonObject[string]> = {}
  for (const key of Object.keys(traits)) {
    if (Object.hasOwn(properties, key)) continue
    const value = traits[key]
    if (value !== undefined) filling[key] = filled[key] = value
  }
  namedTexts(look, filling, PAGE_TEXTS, 'traits')
  return filled
}

const readPage = (look: Reading): Page => {
  const page: Draft<Page> = {
    type: 'page',
    messageId: messageIdOf(look),
    timestamp: timestampOf(look),
    properties: pageProperties(look),
    context: dataOf(look, 'context'),
  }
  if (look.form.pageNeedsUserId) {
    page.userId = requiredId(look, 'userId')
    setAnonymousId(look, page)
  } else identify(look, page)
  setName(look, page)
  const category = optionalText(look, 'category')
  if (category !== undefined) page.category = category
  setIntegrations(look, page)
  return page
}

/** The members of a screen's context that the source names are strings (EV3, seed/A2). */
const checkScreen = (look: Reading, context: JsonObject): void => {
  for (const [part, names] of SCREEN_TEXTS) {
    if (!Object.hasOwn(context, part)) continue
    const value = context[part]
    if (isRecord(value)) namedTexts(look, value, names, 'context', part)
    else fault(look, 'context', `must be an object, not ${kindOf(value)}`, part)
  }
}

const readScreen = (look: Reading): Screen => {
  const screen: Draft<Screen> = {
    type: 'screen',
    messageId: messageIdOf(look),
    timestamp: timestampOf(look),
    context: dataOf(look, 'context'),
  }
  checkScreen(look, screen.context)
  identify(look, screen)
  setName(look, screen)
  const properties = optionalData(look, 'properties')
  if (properties !== undefined) screen.properties = properties
  setIntegrations(look, screen)
  return screen
}

const readIdentify = (look: Reading): Identify => {
  const event: Draft<Identify> = {
    type: 'identify',
    messageId: messageIdOf(look),
    timestamp: timestampOf(look),
    traits: dataOf(look, 'traits'),
    context: dataOf(look, 'context'),
  }
  identify(look, event)
  setIntegrations(look, event)
  return event
}

const readTrack = (look: Reading): Track => {
  const track: Draft<Track> = {
    type: 'track',
    messageId: messageIdOf(look),
    timestamp: timestampOf(look),
    event: requiredId(look, 'event'),
    properties: dataOf(look, 'properties'),
    context: dataOf(look, 'context'),
  }
  identify(look, track)
  setIntegrations(look, track)
  return track
}

const readAlias = (look: Reading): Alias => {
  const alias: Draft<Alias> = {
    type: 'alias',
    messageId: messageIdOf(look),
    timestamp: timestampOf(look),
    previousId: requiredId(look, 'previousId'),
    userId: requiredId(look, 'userId'),
    context: dataOf(look, 'context'),
  }
  setAnonymousId(look, alias)
  setIntegrations(look, alias)
  return alias
}

const readGroup = (look: Reading): Group => {
  const group: Draft<Group> = {
    type: 'group',
    messageId: messageIdOf(look),
    timestamp: timestampOf(look),
    groupId: requiredId(look, 'groupId'),
    traits: dataOf(look, 'traits'),
    context: dataOf(look, 'context'),
  }
  identify(look, group)
  setIntegrations(look, group)
  return group
}

const readDelete = (look: Reading): ForwardedDelete => ({
  type: 'delete',
  userId: requiredId(look, 'userId'),
  timestamp: timestampOf(look),
})

/** Nobody knows what it should be; what every kind has in common is looked at all the same (EV7). */
const readUnknown = (look: Reading): void => {
  const { type } = look.fields
  const wanted = 'one of page, screen, identify, track, alias, group, delete'
  fault(look, 'type', type === undefined ? `is missing: it must be ${wanted}` : `must be ${wanted}`)
  identify(look, {})
  timestampOf(look)
  messageIdOf(look)
  for (const field of ['properties', 'traits', 'context'] as const) optionalData(look, field)
  setIntegrations(look, {})
}

/** The event that the fields make, in its canonical form; undefined if its kind is unknown. */
export const readKind = (look: Reading): Exclude<Event, Delete> | ForwardedDelete | undefined => {
  switch (look.fields.type) {
    case 'page':
      return readPage(look)
    case 'screen':
      return readScreen(look)
    case 'identify':
      return readIdentify(look)
    case 'track':
      return readTrack(look)
    case 'alias':
      return readAlias(look)
    case 'group':
      return readGroup(look)
    case 'delete':
      return readDelete(look)
    default:
      readUnknown(look)
      return undefined
  }
}

/** The form of the model itself: nothing is filled in, nothing is copied. */
const modelForm: Form = {
  fieldOf: (key) => (isField(key) ? key : undefined),
  label: (field) => field,
  timestamp: undefined,
  messageId: undefined,
  complete: true,
  pageNeedsUserId: false,
  owned: true,
}

/** Every own member is the very one that was read: so nothing was filled in, moved, cut or left out. */
const sameMembers = (input: object, event: object): boolean => {
  const given = new Map<string, unknown>(Object.entries(input))
  const read = Object.entries(event)
  return read.length === given.size && read.every(([key, value]) => given.get(key) === value)
}

/** Whether a value is an event in its canonical form already; `read` makes one of the fields. Never throws. */
export const isCanonical = (input: unknown, read: (look: Reading) => object | undefined): boolean => {
  if (typeof input !== 'object' || input === null) return false
  try {
    const look = reading(modelForm)
    const event = gather(look, input) ? read(look) : undefined
    return event !== undefined && look.findings.length === 0 && sameMembers(input, event)
  } catch {
    // An object that answers differently when it is asked again is no event.
    return false
  }
}
