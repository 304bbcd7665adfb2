/**
 * The public call form: what people write, in code or as a line of NDJSON.
 *
 * @module
 */

import type { Integrations } from './integrations.ts'
import type { Event } from './kinds.ts'

/** Free data: anything that JSON can hold. It is checked and copied when the call is taken in (EV8, EV9). */
export type Data = Readonly<Record<string, unknown>>

interface CallOf<Type extends string> {
  readonly type: Type
  /** Made up if absent. At most 256 characters (CO4). */
  readonly messageId?: string
  /** A `Date`, or ISO 8601 with a zone; the time of the call if absent (EV5). */
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
  /** Fill only those keys that `properties` does not have (EV4). */
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

const isEmpty = (data: object): boolean => Object.keys(data).length === 0

/**
 * The event again in the public call form, so that what was not delivered can be offered once more. Nothing of the event
 * is lost: taking the call in gives an equal event. Empty `context`, `properties` and `traits` are left out, as a person
 * would. Not a copy: the call shares its data with the event.
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
  const call: Call = isEmpty(context) ? rest : event
  return withoutEmptyData(call)
}

/** Without empty `properties` and `traits`. An empty one of a screen stays: there it was given (see `Screen`). */
const withoutEmptyData = (call: Call): Call => {
  if (
    (call.type === 'track' || call.type === 'page') &&
    call.properties !== undefined &&
    isEmpty(call.properties)
  ) {
    const { properties: _empty, ...rest } = call
    return rest
  }
  if (
    (call.type === 'identify' || call.type === 'group') &&
    call.traits !== undefined &&
    isEmpty(call.traits)
  ) {
    const { traits: _empty, ...rest } = call
    return rest
  }
  return call
}
