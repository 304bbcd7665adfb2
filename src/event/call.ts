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

const isEmpty = (data: object | undefined): boolean => data !== undefined && Object.keys(data).length === 0

/**
 * The event as a call again, to offer it once more. Nothing is lost: decoding the call gives an equal event. Empty `context`, `properties`
 * and `traits` are left out, but for the properties of a screen, which were given. The call shares its data with the event.
 *
 * @example
 * import { callOf, Event } from 'headrace'
 * import { isRight } from 'fp-ts/lib/Either.js'
 * const decoded = Event.decode({ type: 'alias', previousId: 'anon-1', userId: 'u1', timestamp: '2024-02-29T12:00:00Z' })
 * if (isRight(decoded)) console.log(callOf(decoded.right).timestamp) // => 2024-02-29T12:00:00.000Z
 */
export const callOf = (event: Event): Call => {
  if (event.type === 'delete') return event
  const { context, ...rest } = event
  const call: Exclude<Call, DeleteCall> = isEmpty(context) ? rest : event
  if ((call.type === 'track' || call.type === 'page') && isEmpty(call.properties)) {
    const { properties: _empty, ...others } = call
    return others
  }
  if ((call.type === 'identify' || call.type === 'group') && isEmpty(call.traits)) {
    const { traits: _empty, ...others } = call
    return others
  }
  return call
}
