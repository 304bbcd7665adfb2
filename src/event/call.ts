/**
 * Calls: what people write, in code or as a line of NDJSON.
 *
 * @module
 */

import { isRecord } from '../core/json.ts'
import type { Event, Integrations } from './kinds.ts'

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
