/**
 * Calls: what people write, in code or as a line of NDJSON.
 *
 * @module
 */

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

/** `userId` or `anonymousId` is required. */
export interface PageCall extends RoutedCall<'page'> {
  readonly userId?: string
  readonly name?: string
  readonly category?: string
  readonly properties?: Data
  /** Fill only those keys that `properties` does not have. */
  readonly traits?: Data
}

/** `userId` or `anonymousId` is required. */
export interface ScreenCall extends RoutedCall<'screen'> {
  readonly userId?: string
  readonly name?: string
  readonly properties?: Data
}

/** `userId` or `anonymousId` is required. */
export interface IdentifyCall extends RoutedCall<'identify'> {
  readonly userId?: string
  readonly traits?: Data
}

/** `userId` or `anonymousId` is required. */
export interface TrackCall extends RoutedCall<'track'> {
  readonly userId?: string
  readonly event: string
  readonly properties?: Data
}

/** From an old id to a new one. */
export interface AliasCall extends RoutedCall<'alias'> {
  readonly previousId: string
  readonly userId: string
}

/** `userId` or `anonymousId` is required. */
export interface GroupCall extends RoutedCall<'group'> {
  readonly userId?: string
  readonly groupId: string
  readonly traits?: Data
}

/** Asks for a user to be forgotten. */
export interface DeleteCall extends CallOf<'delete'> {
  readonly userId: string
}

/** An event in the public call form. */
export type Call = PageCall | ScreenCall | IdentifyCall | TrackCall | AliasCall | GroupCall | DeleteCall

/** The event as a call, to offer it once more: every event is a call, and decoding it gives an equal event. */
export const callOf = (event: Event): Call => event
