/**
 * The model: seven kinds of events as io-ts codecs made of combinators, told apart by `type`, so that codecs,
 * generators and schemas of your own can be derived from them by `_tag`, `types` and `props`.
 *
 * An event is canonical: no key has the value undefined, ids are not empty, the timestamp has its one form,
 * and `context`, `properties` and `traits` are there.
 */
import { nodeCrypto } from '../core/package.ts'
import * as t from 'io-ts'
import { isLeft, map } from '../core/either.ts'
import { systemClock } from '../core/clock.ts'
import { isRecord, kindOf, type Fields } from '../core/json.ts'
import { JsonObject } from './json.ts'
import * as Limits from './limits.ts'
import { fromMillis, notATimestamp, toTimestamp } from './timestamp.ts'

/** A text that `read` makes of a value; undefined for a wrong one. */
const textCodec = (
  name: string,
  read: (value: unknown) => string | undefined,
  wrong: (value: unknown) => string,
): t.RefinementType<t.StringC, string, string> => {
  const is = (value: unknown): value is string => typeof value === 'string' && read(value) === value
  return new t.RefinementType(
    name,
    is,
    (value, context) => {
      const found = read(value)
      return found === undefined ? t.failure(undefined, context, wrong(value)) : t.success(found)
    },
    t.identity,
    t.string,
    is,
  )
}

const MISSING_ID = 'is missing: it must be a string that is not empty'

/** The fault of a value that is no id. An id is never empty, and numbers never become strings. */
export const notAnId = (value: unknown): string =>
  value === undefined || value === '' ? MISSING_ID : `must be a string, not ${kindOf(value)}`

export const TOO_LONG = `must have at most ${String(Limits.messageIdLength)} characters`
export const NO_USER = 'is missing: an event needs a userId or an anonymousId that is not empty'

const readId = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)

const Id = textCodec('Id', readId, notAnId)
const MessageId = textCodec(
  'MessageId',
  (value) => ((readId(value)?.length ?? Infinity) <= Limits.messageIdLength ? readId(value) : undefined),
  (value) => (readId(value) === undefined ? notAnId(value) : TOO_LONG),
)
const Timestamp = textCodec('Timestamp', toTimestamp, notATimestamp)

/** An object of JSON data with more rules for it, which see the copy. */
const dataWith = <A extends JsonObject, C extends t.Mixed>(name: string, rules: C) => {
  const is = (value: unknown): value is A => JsonObject.is(value) && rules.is(value)
  return new t.IntersectionType<[typeof JsonObject, C], A, A, unknown>(
    name,
    is,
    (value, context) => {
      const copied = JsonObject.validate(value, t.appendContext(context, '0', JsonObject))
      const seen = isLeft(copied) ? value : copied.right
      const ruled = rules.validate(seen, t.appendContext(context, '1', rules))
      const errors = [copied, ruled].flatMap((each) => (isLeft(each) ? each.left : []))
      // The rules change nothing, and have looked at every part.
      return errors.length > 0 ? t.failures(errors) : t.success(seen as A)
    },
    t.identity,
    [JsonObject, rules],
  )
}

/** Destinations by name, and `All` for the rest: true or an object lets the event through, false does not. */
export type Integrations = Readonly<Record<string, boolean | JsonObject>>

/** A codec for the integrations map of an event. Decoding copies it. */
export const Integrations = dataWith<Integrations, t.Mixed>(
  'Integrations',
  t.record(t.string, t.union([t.boolean, t.UnknownRecord])),
)

/** The properties of a page. The four named ones are strings. @inline */
type PageProperties = JsonObject & t.TypeOf<typeof pageTexts>
const pageProps = { path: t.string, referrer: t.string, title: t.string, url: t.string } as const
export const pageTexts = t.partial(pageProps)
const PageProperties = dataWith<PageProperties, typeof pageTexts>('PageProperties', pageTexts)

export const screenTexts = t.partial({
  device: t.partial({ model: t.string, type: t.string }),
  os: t.partial({ name: t.string, version: t.string }),
  app: t.partial({ build: t.string, name: t.string, version: t.string }),
})
/** The `context` of a screen, whose rules include those of the other kinds. */
export const ScreenContext = dataWith<JsonObject, typeof screenTexts>('ScreenContext', screenTexts)

/** A record with these required and optional members only. If both ids are optional, one is there. */
export const closedRecord = <const R extends t.Props, const O extends t.Props>(
  name: string,
  required: R,
  optional: O,
) => {
  const members = t.intersection([t.type(required), t.partial(optional)], name)
  type A = t.TypeOf<typeof members>
  const keys = Object.keys({ ...required, ...optional })
  const lacksUser = ({ userId, anonymousId }: Fields): boolean =>
    'userId' in optional && userId === undefined && anonymousId === undefined
  return new t.ExactType<typeof members, A, A, unknown>(
    name,
    (value): value is A =>
      isRecord(value) &&
      members.is(value) &&
      !lacksUser(value) &&
      Object.entries(value).every(([key, member]) => keys.includes(key) && member !== undefined),
    (it, context) => {
      const read = members.validate(it, context)
      const errors = isLeft(read) ? read.left : []
      const place = t.appendContext(t.appendContext(context, '0', members.types[0]), 'userId', Id)
      if (isRecord(it) && lacksUser(it)) errors.push({ value: undefined, context: place, message: NO_USER })
      if (isLeft(read) || errors.length > 0) return t.failures(errors)
      const given: Fields = read.right
      const present = keys.flatMap((key) => (given[key] === undefined ? [] : [[key, given[key]] as const]))
      // The members as they were read, without those that may be absent and are.
      return t.success(Object.fromEntries(present) as A)
    },
    t.identity,
    members,
  )
}

const FILL: Readonly<Record<string, () => unknown>> = {
  messageId: () => nodeCrypto().randomUUID(),
  timestamp: () => fromMillis(systemClock.now()),
  context: () => ({}),
  properties: () => ({}),
  traits: () => ({}),
}

/** The codec for an event, from a call: an empty id counts as absent, and absent members get defaults. */
const callCodec = <M extends t.Any, A, B>(
  event: t.ExactType<M, A, A>,
  call: t.Type<B, unknown>,
  toEvent: (call: B) => A,
  required: t.Props,
): t.ExactType<M, A, A> =>
  new t.ExactType(
    event.name,
    event.is.bind(event),
    (value, context) => {
      if (!isRecord(value)) return t.failure(undefined, context, `must be an object, not ${kindOf(value)}`)
      const filled: Record<string, unknown> = { ...value }
      for (const id of ['messageId', 'userId', 'anonymousId']) if (filled[id] === '') filled[id] = undefined
      for (const [key, fill] of Object.entries(FILL))
        if (key in required && filled[key] === undefined) filled[key] = fill()
      return map(toEvent)(call.validate(filled, context))
    },
    event.encode.bind(event),
    event.type,
  )

const byKind = <const R extends t.Props, const O extends t.Props>(name: string, required: R, optional: O) => {
  const event = closedRecord(name, required, { ...optional, integrations: Integrations })
  return callCodec(event, event, t.identity, required)
}

const common = {
  /** Names the message, so that receivers can detect a repetition. */
  messageId: MessageId,
  /** `YYYY-MM-DDTHH:MM:SS.mmmZ`. */
  timestamp: Timestamp,
  /** Data about device, address and the like; may be empty. */
  context: JsonObject,
}
const user = { userId: Id, anonymousId: Id } as const

/** The members of each kind, required ones first. Events also have `integrations`, and bodies `version`. */
export const members = {
  page: [
    { type: t.literal('page'), ...common, properties: PageProperties },
    { ...user, name: t.string, category: t.string },
  ],
  screen: [
    { type: t.literal('screen'), ...common, context: ScreenContext },
    { ...user, name: t.string, category: t.string, properties: JsonObject },
  ],
  identify: [{ type: t.literal('identify'), ...common, traits: JsonObject }, user],
  track: [{ type: t.literal('track'), ...common, event: Id, properties: JsonObject }, user],
  alias: [{ type: t.literal('alias'), ...common, previousId: Id, userId: Id }, { anonymousId: Id }],
  group: [{ type: t.literal('group'), ...common, groupId: Id, traits: JsonObject }, user],
  delete: [{ type: t.literal('delete'), userId: Id, timestamp: Timestamp }, {}],
} as const

const [page, names] = members.page
const pageOptional = { ...names, integrations: Integrations }
const pageEvent = closedRecord('Page', page, pageOptional)
const pageCall = closedRecord('Page', page, { ...pageOptional, traits: PageProperties })

const fillProperties = ({ traits, ...event }: t.TypeOf<typeof pageCall>) => {
  return { ...event, properties: { ...event.properties, ...traits, ...event.properties } }
}

/** A user saw a page. The traits of a call fill those keys that its properties do not have. */
export const Page = callCodec(pageEvent, pageCall, fillProperties, page)
export type Page = t.TypeOf<typeof Page>

/**
 * A user saw a screen of an app. If `context.device`, `context.os` and `context.app` are there, they are
 * objects whose `model`, `type`, `name`, `version` and `build` are strings. It has `properties` only if they
 * were given.
 */
export const Screen = byKind('Screen', ...members.screen)
export type Screen = t.TypeOf<typeof Screen>

/** Data about a user. */
export const Identify = byKind('Identify', ...members.identify)
export type Identify = t.TypeOf<typeof Identify>

/**
 * A user did something.
 *
 * @example
 * import { Track } from 'headrace/events'
 * import * as t from 'io-ts'
 *
 * const Ordered = t.intersection([
 *   Track,
 *   t.strict({ event: t.literal('Ordered'), properties: t.type({ total: t.number }) }),
 * ])
 * const call = { type: 'track', userId: 'u1', event: 'Ordered', properties: { total: 9.5 } }
 * console.log(Ordered.decode(call)._tag) // => Right
 */
export const Track = byKind('Track', ...members.track)
export type Track = t.TypeOf<typeof Track>

/** Two ids are one person: `previousId` is the old one, `userId` the new one. */
export const Alias = byKind('Alias', ...members.alias)
export type Alias = t.TypeOf<typeof Alias>

/** A user belongs to a group. The traits are the group's. */
export const Group = byKind('Group', ...members.group)
export type Group = t.TypeOf<typeof Group>

const deletion = { ...members.delete[0], messageId: MessageId } as const
const deleteEvent = closedRecord('Delete', deletion, {})

/** A user asked to be forgotten. No context; integrations do not apply; the body has no `messageId`. */
export const Delete = callCodec(deleteEvent, deleteEvent, t.identity, deletion)
export type Delete = t.TypeOf<typeof Delete>

/** The seven kinds. The codec of events reads faster and answers the same. */
export const kinds = t.union([Page, Screen, Identify, Track, Alias, Group, Delete], 'Event')

/** The same as `Event` of event.ts, which stands beside the codec of that name. */
type Event = Page | Screen | Identify | Track | Alias | Group | Delete

export type Kind = Event['type']

/** The body of a delete: the user and the time. */
export type ForwardedDelete = Omit<Delete, 'messageId'>

/** The keys of all members of a union. */
export type KeysOf<E> = E extends unknown ? keyof E : never
type WithoutRouting<E> = E extends unknown ? Omit<E, 'integrations'> : never

/** An event as a webhook body has it: without `integrations`, and a delete without its `messageId`. */
export type Forwarded = WithoutRouting<Exclude<Event, Delete>> | ForwardedDelete

/**
 * Whether an event with this map may go to the destination of that name. A destination that is named decides
 * for itself. For the others `All: false` means no, and everything else yes. Names are case sensitive.
 *
 * @example
 * import { allows } from 'headrace/events'
 * console.log(allows({ All: false, Warehouse: true }, 'Warehouse')) // => true
 * console.log(allows({ All: false, Warehouse: true }, 'warehouse')) // => false
 * console.log(allows(undefined, 'Warehouse')) // => true
 */
export const allows = (integrations: Integrations | undefined, destinationName: string): boolean => {
  if (integrations === undefined) return true
  if (Object.hasOwn(integrations, destinationName)) return integrations[destinationName] !== false
  return !Object.hasOwn(integrations, 'All') || integrations['All'] !== false
}

/** A list, `Map` or `Set`, a promise that was not awaited, or a `Date` has one of these. @inline */
type NoData = 'then' | 'getTime' | typeof Symbol.iterator

/** Free data, also of an interface: anything that JSON can hold. Checked and copied by the call. @inline */
export type Data = Readonly<Record<string, unknown>> | (object & Readonly<Partial<Record<NoData, never>>>)

/** Members that a call may leave out, or write in another form. */
interface Loose {
  /** Default: a new id. At most 256 characters. */
  readonly messageId?: string
  /** A `Date`, or ISO 8601 with a zone. Default: the time of the call. */
  readonly timestamp?: string | Date
  readonly context?: Data
  readonly properties?: Data
  readonly traits?: Data
}

type CallOf<E> = Omit<E, keyof Loose> & Pick<Loose, keyof Loose & keyof E>

/** `userId` or `anonymousId` is required. The traits fill only those keys that `properties` does not have. */
export type PageCall = CallOf<Page> & Pick<Loose, 'traits'>
/** `userId` or `anonymousId` is required. */
export type ScreenCall = CallOf<Screen>
/** `userId` or `anonymousId` is required. */
export type IdentifyCall = CallOf<Identify>
/** `userId` or `anonymousId` is required. */
export type TrackCall = CallOf<Track>
/** From an old id to a new one. */
export type AliasCall = CallOf<Alias>
/** `userId` or `anonymousId` is required. */
export type GroupCall = CallOf<Group>
/** Asks for a user to be forgotten. */
export type DeleteCall = CallOf<Delete>

/** An event in the public call form. */
export type Call = PageCall | ScreenCall | IdentifyCall | TrackCall | AliasCall | GroupCall | DeleteCall

const isEmpty = (value: unknown): boolean => isRecord(value) && Object.keys(value).length === 0

/**
 * The event as a call, to offer it once more: decoding it gives an equal event. Empty `context`, `properties`
 * and `traits` are left out, except the `properties` of a screen.
 */
export const callOf = (event: Event): Call => {
  const filledIn = ['context', 'traits', ...(event.type === 'screen' ? [] : ['properties'])]
  const members = Object.entries(event).filter(([key, value]) => !filledIn.includes(key) || !isEmpty(value))
  // The left-out members are optional in a call.
  return Object.fromEntries(members) as Call
}
