/**
 * The model: seven kinds of events as one tagged union by `type`. What a webhook body looks like is known in `webhookBody.ts` alone.
 *
 * An event is canonical: no key has the value undefined, ids are not empty, the timestamp has its one form, and `context`,
 * `properties` and `traits` are there. Codecs make such events; code that makes them by hand must do the same.
 *
 * @module
 */

import { isRecord } from '../core/json.ts'
import type { JsonObject } from './json.ts'

/** Destinations by name, and `All` for the rest: true or an object lets the event through, false does not. @inline */
export type Integrations = Readonly<Record<string, boolean | JsonObject>>

/**
 * Whether an event with this map may go to the destination of that name. A destination that is named decides for itself. For the others
 * `All: false` means no, and everything else yes. Names are case sensitive.
 *
 * @example
 * import { allows } from 'headrace'
 * console.log(allows({ All: false, Warehouse: true }, 'Warehouse')) // => true
 * console.log(allows({ All: false, Warehouse: true }, 'warehouse')) // => false
 * console.log(allows(undefined, 'Warehouse')) // => true
 */
export const allows = (integrations: Integrations | undefined, destinationName: string): boolean => {
  if (integrations === undefined) return true
  if (Object.hasOwn(integrations, destinationName)) return integrations[destinationName] !== false
  return !Object.hasOwn(integrations, 'All') || integrations['All'] !== false
}

/** What six of the seven kinds carry. */
interface Common {
  /** Names the message, so that receivers can detect a repetition. */
  readonly messageId: string
  /** `YYYY-MM-DDTHH:MM:SS.mmmZ`. */
  readonly timestamp: string
  /** What is known about device, address and the like; empty if nothing was given. */
  readonly context: JsonObject
  /** Which destinations the event may go to. Routing reads it; no body carries it, so it is not in `Forwarded`. */
  readonly integrations?: Integrations
}

/** The user: at least one of the two ids is there. */
interface Identified {
  readonly userId?: string
  readonly anonymousId?: string
}

/** The properties of a page. The four named ones are strings. */
// No interface that extends JsonObject: without `exactOptionalPropertyTypes` its members could be undefined, which is no JSON.
export type PageProperties = JsonObject & {
  readonly path?: string
  readonly referrer?: string
  readonly title?: string
  readonly url?: string
}

/** A user saw a page. */
export interface Page extends Common, Identified {
  readonly type: 'page'
  readonly name?: string
  readonly category?: string
  readonly properties: PageProperties
}

/**
 * A user saw a screen of an app. If `context.device`, `context.os` and `context.app` are there, they are objects whose `model`, `type`,
 * `name`, `version` and `build` are strings.
 */
export interface Screen extends Common, Identified {
  readonly type: 'screen'
  readonly name?: string
  /** Only if they were given. */
  readonly properties?: JsonObject
}

/** What is known about a user. */
export interface Identify extends Common, Identified {
  readonly type: 'identify'
  readonly traits: JsonObject
}

/** A user did something. */
export interface Track extends Common, Identified {
  readonly type: 'track'
  readonly event: string
  readonly properties: JsonObject
}

/** Two ids are one person: `previousId` is the old one, `userId` the new one. */
export interface Alias extends Common {
  readonly type: 'alias'
  readonly previousId: string
  readonly userId: string
  readonly anonymousId?: string
}

/** A user belongs to a group. The traits are the group's. */
export interface Group extends Common, Identified {
  readonly type: 'group'
  readonly groupId: string
  readonly traits: JsonObject
}

/** What the body of a delete holds: the user and the time. */
export interface ForwardedDelete {
  readonly type: 'delete'
  readonly userId: string
  readonly timestamp: string
}

/** A user asked to be forgotten. It has no context, and integrations do not apply. */
export interface Delete extends ForwardedDelete {
  /** It is not in the body: it is the payload's id, and the optional header carries it for all kinds. */
  readonly messageId: string
}

/** Something that a user did or is. @inline */
export type Event = Page | Screen | Identify | Track | Alias | Group | Delete

/** The seven kinds by name. */
export type Kind = Event['type']

type WithoutRouting<E> = E extends unknown ? Omit<E, 'integrations'> : never

/** What a webhook body carries of an event: all but `integrations`, and but the `messageId` of a delete. */
export type Forwarded = WithoutRouting<Exclude<Event, Delete>> | ForwardedDelete

/** Free data: anything that JSON can hold. It is checked and copied when the call is decoded. */
export type Data = Readonly<Record<string, unknown>>

interface CallOf<Type extends string> {
  readonly type: Type
  /** Default: a new id. At most 256 characters. */
  readonly messageId?: string
  /** A `Date`, or ISO 8601 with a zone. Default: the time of the call. */
  readonly timestamp?: string | Date
}

interface RoutedCall<Type extends string> extends CallOf<Type> {
  readonly context?: Data
  readonly integrations?: Integrations
  readonly anonymousId?: string
}

interface UserCall<Type extends string> extends RoutedCall<Type> {
  readonly userId?: string
}

/** `userId` or `anonymousId` is required. */
export interface PageCall extends UserCall<'page'> {
  readonly name?: string
  readonly category?: string
  readonly properties?: Data
  /** Fill only those keys that `properties` does not have. */
  readonly traits?: Data
}

/** `userId` or `anonymousId` is required. */
export interface ScreenCall extends UserCall<'screen'> {
  readonly name?: string
  readonly properties?: Data
}

/** `userId` or `anonymousId` is required. */
export interface IdentifyCall extends UserCall<'identify'> {
  readonly traits?: Data
}

/** `userId` or `anonymousId` is required. */
export interface TrackCall extends UserCall<'track'> {
  readonly event: string
  readonly properties?: Data
}

/** From an old id to a new one. */
export interface AliasCall extends RoutedCall<'alias'> {
  readonly previousId: string
  readonly userId: string
}

/** `userId` or `anonymousId` is required. */
export interface GroupCall extends UserCall<'group'> {
  readonly groupId: string
  readonly traits?: Data
}

/** Asks for a user to be forgotten. */
export interface DeleteCall extends CallOf<'delete'> {
  readonly userId: string
}

/** An event in the public call form. */
export type Call = PageCall | ScreenCall | IdentifyCall | TrackCall | AliasCall | GroupCall | DeleteCall

const isEmpty = (value: unknown): boolean => isRecord(value) && Object.keys(value).length === 0

/**
 * The event as a call, to offer it once more: decoding it gives an equal event. Empty `context`, `properties` and `traits` are left out, but
 * for the properties of a screen, which were given.
 */
export const callOf = (event: Event): Call => {
  const isFilledIn = (key: string, value: unknown): boolean =>
    ['context', 'properties', 'traits'].includes(key) &&
    isEmpty(value) &&
    !(event.type === 'screen' && key === 'properties')
  // What is left out is optional in a call.
  return Object.fromEntries(Object.entries(event).filter(([key, value]) => !isFilledIn(key, value))) as Call
}
