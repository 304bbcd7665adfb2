/**
 * Turns calls, as people write them, into events. The reader is written by hand, because it runs for every
 * event. A law holds it to the codecs of the model: the same events, and faults in the same places.
 */
import * as t from 'io-ts'
import { left, right, valueOr, type Either } from '../core/either.ts'
import { ignoreRejection } from '../core/awaitable.ts'
import { systemClock, type Clock } from '../core/clock.ts'
import { isRecord, kindOf, type Fields } from '../core/json.ts'
import { checkOptions, flag, func, methods, optional, strict } from '../core/options.ts'
import { UnfitAnswer } from '../core/refusal.ts'
import { PROTO_KEY, UNREADABLE, copyJson, hasToJson, isJson, newCopying, toErrors } from './json.ts'
import type { Copying, Finding, JsonObject, Key } from './json.ts'
import * as Limits from './limits.ts'
import { NO_USER, TOO_LONG, callOf, kinds, notAnId, pageTexts, screenTexts } from './model.ts'
import type { Alias, Call, Delete, Group, Identify, Kind, Page, Screen, Track } from './model.ts'
import { newId as randomId } from './payload.ts'
import { fromMillis, notATimestamp, toTimestamp } from './timestamp.ts'

/** Something that a user did or is: one of seven kinds, told apart by `type`. */
export type Event = Page | Screen | Identify | Track | Alias | Group | Delete

/** Options of a codec for events. */
export interface EventCodecOptions {
  /** The time of calls without a timestamp. Default: the machine's. */
  readonly clock?: Pick<Clock, 'now'>
  /** The id of a call without one: 1 to 256 characters, else `decode` throws. Default: a random UUID. */
  readonly newId?: () => string
  /**
   * Whether the input comes straight from `JSON.parse` and nothing else holds it. Then plain JSON data in it
   * is not copied. Default: false, everything is copied.
   */
  readonly owned?: boolean
  /** Whether a page must have a `userId`, as in the client; else an `anonymousId` will do. Default: false. */
  readonly pageNeedsUserId?: boolean
  /** Receives the top-level keys of a call that its kind does not carry. Its errors are dropped. */
  readonly onUnknownKeys?: (keys: ReadonlyArray<string>) => void
}

/** The members of a call, each read once: a getter may answer differently the second time. */
const membersOf = (input: Fields) => ({
  input,
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

type CallMembers = ReturnType<typeof membersOf>
type Field = keyof CallMembers

/** One call. A wrong member becomes a harmless one, so that all faults are found at once. */
interface Reading {
  readonly members: CallMembers
  readonly findings: Finding[]
  readonly copying: Copying
  readonly isOwned: boolean
}

/** A string; undefined if it is absent or something else. */
const readText = ({ members, findings }: Reading, field: Field): string | undefined => {
  const value = members[field]
  if (value === undefined || typeof value === 'string') return value
  findings.push({ steps: [field], message: `must be a string, not ${kindOf(value)}` })
  return undefined
}

const requiredId = ({ members, findings }: Reading, field: Field): string => {
  const value = members[field]
  if (typeof value === 'string' && value !== '') return value
  findings.push({ steps: [field], message: notAnId(value) })
  return ''
}

/** An object of JSON data, copied unless it is ours; undefined if it is absent. */
const dataOf = ({ members, findings, copying, isOwned }: Reading, field: Field): JsonObject | undefined => {
  const value = members[field]
  if (value === undefined) return undefined
  if (isOwned && isRecord(value) && isJson(value)) return value
  const before = findings.length
  const copied = copyJson(copying, value, field)
  if (isRecord(copied)) return copied
  if (findings.length === before)
    findings.push({ steps: [field], message: `must be an object, not ${kindOf(value)}` })
  return {}
}

/** The named members of an object must be strings if they are there. */
const checkTexts = (findings: Finding[], data: JsonObject, names: string[], ...steps: Key[]): void => {
  for (const name of names)
    if (Object.hasOwn(data, name) && typeof data[name] !== 'string')
      findings.push({ steps: [...steps, name], message: `must be a string, not ${kindOf(data[name])}` })
}

const PAGE_TEXTS = Object.keys(pageTexts.props)
const SCREENS = Object.entries(screenTexts.props).map(([at, { props }]) => [at, Object.keys(props)] as const)

const checkScreen = (findings: Finding[], context: JsonObject): void => {
  for (const [part, names] of SCREENS) {
    const value = context[part]
    if (value === undefined) continue
    if (isRecord(value)) checkTexts(findings, value, names, 'context', part)
    else findings.push({ steps: ['context', part], message: `must be an object, not ${kindOf(value)}` })
  }
}

/** An event while it is put together, key by key: spreading parts took six times as long (measured). */
type Draft = Partial<Record<Field, unknown>>

/** The members of one kind; false if there is no such kind. */
const readKind = (reading: Reading, event: Draft): boolean => {
  const { members, findings } = reading
  switch (event.type) {
    case 'page':
    case 'screen': {
      const name = readText(reading, 'name')
      if (name !== undefined) event.name = name
      const category = readText(reading, 'category')
      if (category !== undefined) event.category = category
      const properties = dataOf(reading, 'properties')
      if (event.type === 'screen') {
        if (properties !== undefined) event.properties = properties
        return true
      }
      if (properties !== undefined) checkTexts(findings, properties, PAGE_TEXTS, 'properties')
      event.properties = properties ?? {}
      if (members.traits === undefined) return true
      const traits = dataOf(reading, 'traits') ?? {}
      checkTexts(findings, traits, PAGE_TEXTS, 'traits')
      // The keys of the properties come first on the wire, and win.
      event.properties = { ...properties, ...traits, ...properties }
      return true
    }
    case 'identify':
      event.traits = dataOf(reading, 'traits') ?? {}
      return true
    case 'track':
      event.event = requiredId(reading, 'event')
      event.properties = dataOf(reading, 'properties') ?? {}
      return true
    case 'alias':
      event.previousId = requiredId(reading, 'previousId')
      return true
    case 'group':
      event.groupId = requiredId(reading, 'groupId')
      event.traits = dataOf(reading, 'traits') ?? {}
      return true
    case 'delete':
      return true
    default:
      return false
  }
}

/** Sets the ids that are there; `userId` is required, or one of the two ids. */
const readUser = (reading: Reading, event: Draft, pageNeedsUserId: boolean): void => {
  const { findings } = reading
  const needsUserId =
    event.type === 'alias' || event.type === 'delete' || (event.type === 'page' && pageNeedsUserId)
  const before = findings.length
  const userId = needsUserId ? requiredId(reading, 'userId') : readText(reading, 'userId')
  const anonymousId = event.type === 'delete' ? undefined : readText(reading, 'anonymousId')
  if (userId !== undefined && userId !== '') event.userId = userId
  if (anonymousId !== undefined && anonymousId !== '') event.anonymousId = anonymousId
  if (event.userId === undefined && event.anonymousId === undefined && findings.length === before)
    findings.push({ steps: ['userId'], message: NO_USER })
}

const readIntegrations = (reading: Reading, event: Draft): void => {
  const integrations = dataOf(reading, 'integrations')
  if (integrations === undefined) return
  event.integrations = integrations
  for (const name in integrations) {
    const chosen = integrations[name]
    if (reading.findings.length >= Limits.findings) return
    if (typeof chosen === 'boolean' || isRecord(chosen)) continue
    const message = `must be true, false or an object, not ${kindOf(chosen)}`
    reading.findings.push({ steps: ['integrations', name], message })
  }
}

const EXAMPLE = 'must be an object, such as {"type":"track","userId":"u1","event":"Signed Up"}'

/** The own members of an input, as JSON would see them; undefined if no event can be made of it. */
const readMembers = (findings: Finding[], input: unknown): CallMembers | undefined => {
  try {
    const meant: unknown = isRecord(input) && hasToJson(input) ? input.toJSON('') : input
    const isPlain = isRecord(meant) && Object.getPrototypeOf(meant) === Object.prototype
    if (isRecord(meant) && (isPlain || kindOf(meant) === 'an object')) {
      if (Object.hasOwn(meant, '__proto__')) findings.push({ steps: ['__proto__'], message: PROTO_KEY })
      return membersOf(isPlain ? meant : { ...meant })
    }
    findings.push({ steps: [], message: `${EXAMPLE}, not ${kindOf(meant)}` })
  } catch {
    findings.push({ steps: [], message: UNREADABLE })
  }
  return undefined
}

const KIND_LIST = 'one of page, screen, identify, track, alias, group, delete'

/** The timestamp of now, written once for each millisecond. */
const timestamps = ({ now }: Pick<Clock, 'now'>): (() => string | undefined) => {
  let at = Number.NaN
  let text: string | undefined
  return () => {
    const millis = now()
    if (millis !== at) {
      at = millis
      text = fromMillis(millis)
    }
    return text
  }
}

/** The keys that calls of a kind may have, and those of the last call that had no other. */
interface KnownKeys {
  readonly all: ReadonlySet<string>
  before: ReadonlyArray<string>
}

const KEYS_OF_KIND = new Map<string, KnownKeys>(
  kinds.types.map(({ type: { types } }) => {
    const [required, optional] = types
    const type = required.props.type.value
    const more = type === 'page' ? ['traits'] : []
    const all = new Set([...Object.keys(required.props), ...Object.keys(optional.props), ...more])
    return [type, { all, before: [] }]
  }),
)

/** Whether the keys are those of the call before. Looking up each key took 10 % of a client. */
const areKnown = (input: Fields, { before }: KnownKeys): boolean => {
  let at = 0
  for (const key in input) if (key !== before[at++]) return false
  return true
}

const unknownKeys = (input: Fields, known: KnownKeys | undefined): ReadonlyArray<string> => {
  if (known === undefined || areKnown(input, known)) return []
  const keys = Object.keys(input)
  const unknown = keys.filter((key) => !known.all.has(key) && input[key] !== undefined)
  if (keys.every((key) => known.all.has(key))) known.before = keys
  return unknown
}

/** An id, checked if it is the host's. */
const idFrom = (newId: EventCodecOptions['newId']): string => {
  if (newId === undefined) return randomId()
  const id: unknown = newId()
  if (typeof id === 'string' && id !== '' && id.length <= Limits.messageIdLength) return id
  ignoreRejection(id)
  throw new UnfitAnswer('newId must answer 1 to 256 characters')
}

/**
 * Reads calls. With a `kind` the call need not name its type. `isListening`: whether unknown keys are of
 * interest now, because finding them costs time. Throws only errors of the clock and `newId`.
 */
export const eventReader = (options: EventCodecOptions = {}, isListening: () => boolean = () => true) => {
  const { clock = systemClock, newId, owned: isOwned = false, onUnknownKeys } = options
  const now = timestamps(clock)

  return (input: unknown, kind?: Kind): Either<ReadonlyArray<Finding>, Event> => {
    const copying = newCopying()
    const { findings } = copying
    const members = readMembers(findings, input)
    if (members === undefined) return left(findings)
    const reading: Reading = { members, findings, copying, isOwned }
    const { type = kind, messageId, timestamp: time } = members
    const event: Draft = { type: kind ?? type }
    if (kind !== undefined && type !== kind)
      findings.push({ steps: ['type'], message: `must be ${kind} or left out: the method is ${kind}` })

    event.messageId =
      messageId === undefined || messageId === '' ? idFrom(newId) : requiredId(reading, 'messageId')
    if (typeof messageId === 'string' && messageId.length > Limits.messageIdLength)
      findings.push({ steps: ['messageId'], message: TOO_LONG })
    event.timestamp = time === undefined ? now() : toTimestamp(time)
    if (event.timestamp === undefined) findings.push({ steps: ['timestamp'], message: notATimestamp(time) })
    if (!readKind(reading, event)) {
      const message = type === undefined ? `is missing: it must be ${KIND_LIST}` : `must be ${KIND_LIST}`
      return left([{ steps: ['type'], message }])
    }
    readUser(reading, event, options.pageNeedsUserId === true)
    if (event.type !== 'delete') {
      const context = dataOf(reading, 'context') ?? {}
      event.context = context
      if (event.type === 'screen') checkScreen(findings, context)
      readIntegrations(reading, event)
    }
    if (findings.length > 0) return left(findings)
    if (onUnknownKeys !== undefined && isListening()) {
      const keys = valueOr([], () => unknownKeys(members.input, KEYS_OF_KIND.get(String(event.type))))
      if (keys.length > 0) ignoreRejection(valueOr(undefined, () => onUnknownKeys(keys)))
    }
    // Without findings its type is one of the seven, and it has the members of its kind.
    return right(event as Event)
  }
}

const codecOptions = strict({
  clock: optional(methods<Pick<Clock, 'now'>>('a clock', 'now')),
  newId: optional(func<() => string>()),
  owned: optional(flag),
  pageNeedsUserId: optional(flag),
  onUnknownKeys: optional(func()),
})

/** @inline */
type EventCodec = t.UnionType<typeof kinds.types, Event, Call>

/**
 * A codec from calls to events and back. Decoding names every fault at once, each with its path and without
 * the value. It fills in the time and an id where they are absent. The event is a copy: changing the input
 * afterwards does not change it. `is` says whether a value is an event in its canonical form. Its `types` are
 * the codecs of the seven kinds.
 *
 * @example
 * import { eventCodec } from 'headrace/events'
 * const codec = eventCodec({ clock: { now: () => 0 }, newId: () => 'm-1' })
 * console.log(codec.decode({ type: 'track', userId: 'u1', event: 'Signed Up' }))
 * // => { _tag: 'Right', right: { type: 'track', … timestamp: '1970-01-01T00:00:00.000Z', … } }
 */
export const eventCodec = (options: EventCodecOptions = {}): EventCodec => {
  checkOptions('options of eventCodec', codecOptions, options)
  const read = eventReader(options)
  return new t.UnionType(
    'Event',
    (input): input is Event => valueOr(false, () => kinds.is(input)),
    (input, context) => {
      const result = read(input)
      return result._tag === 'Right' ? result : t.failures(toErrors(result.left, context))
    },
    callOf,
    kinds.types,
  )
}

/** The codec for calls from code, with the machine's clock and random ids. It copies: any input is safe. */
export const Event: EventCodec = eventCodec()

/** The codec for calls straight from `JSON.parse` that nothing else holds: checked but not copied. */
export const ParsedEvent: EventCodec = eventCodec({ owned: true })
