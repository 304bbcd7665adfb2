/**
 * A message as the public tracking convention writes it: what the client sends and a collector accepts.
 *
 * @module
 */

import { isRecord } from '../core/json.ts'
import type { Json, JsonObject } from './json.ts'
import type { Delete, Event } from './kinds.ts'
import type { Frame } from './payload.ts'

/** The library that sends: every message names it in `context.library`. */
export interface Library {
  readonly name: string
  readonly version: string
}

/** The kinds that the convention has: all but delete. */
export type Tracked = Exclude<Event, Delete>

type Context = Readonly<Record<string, Json | Library>>

/** A message in the convention's form, for `JSON.stringify`, which leaves out the keys that have no value. */
export interface TrackingMessage {
  readonly type: Tracked['type']
  readonly messageId: string
  /** `YYYY-MM-DDTHH:MM:SS.mmmZ`. */
  readonly timestamp: string
  readonly context: Context
  readonly [key: string]: Json | Context | undefined
}

/** Called for every message, so without a list of the keys. */
const isEmpty = (data: JsonObject): boolean => {
  for (const _key in data) return false
  return true
}

const filled = (data: JsonObject): JsonObject | undefined => (isEmpty(data) ? undefined : data)

/** A caller may name another library, but not leave it out. */
const contextOf = (context: JsonObject, library: Library): Context => {
  if (isEmpty(context)) return { library }
  return isRecord(context['library']) ? context : { ...context, library }
}

/**
 * The message for an event. The order of the keys never changes. `properties` and `traits` are there only if they hold something (a screen's
 * as given). `context` always has a `library`: the caller's own if it is an object, else the given one. The message shares its data
 * with the event: write it at once.
 *
 * @example
 * import { Event, toTrackingMessage } from 'headrace'
 * import { isRight } from 'fp-ts/lib/Either.js'
 *
 * const decoded = Event.decode({ type: 'identify', userId: 'u1', messageId: 'm1', timestamp: '2024-02-29T12:00:00Z' })
 * if (isRight(decoded) && decoded.right.type !== 'delete')
 *   console.log(toTrackingMessage(decoded.right, { name: 'mine', version: '1.0.0' }).context)
 * // => { library: { name: 'mine', version: '1.0.0' } }
 */
export const toTrackingMessage = (event: Tracked, library: Library): TrackingMessage => {
  const { type, messageId, timestamp, userId, anonymousId, integrations } = event
  const context = contextOf(event.context, library)
  // One literal a kind: all messages of a kind have one shape, which is written faster (measured).
  switch (event.type) {
    case 'identify': {
      const traits = filled(event.traits)
      return { type, messageId, timestamp, userId, anonymousId, traits, context, integrations }
    }
    case 'track': {
      const properties = filled(event.properties)
      const name = event.event
      return {
        type,
        messageId,
        timestamp,
        userId,
        anonymousId,
        event: name,
        properties,
        context,
        integrations,
      }
    }
    case 'page': {
      const { name, category } = event
      const properties = filled(event.properties)
      return {
        type,
        messageId,
        timestamp,
        userId,
        anonymousId,
        name,
        category,
        properties,
        context,
        integrations,
      }
    }
    case 'screen': {
      const { name, properties } = event
      return { type, messageId, timestamp, userId, anonymousId, name, properties, context, integrations }
    }
    case 'group': {
      const { groupId } = event
      const traits = filled(event.traits)
      return { type, messageId, timestamp, userId, anonymousId, groupId, traits, context, integrations }
    }
    case 'alias': {
      const { previousId } = event
      return { type, messageId, timestamp, previousId, userId, anonymousId, context, integrations }
    }
  }
}

/**
 * The envelope of the public tracking convention: `{"batch":[…],"sentAt":"…"}`. The time of sending is written at each attempt and has a
 * fixed width, so the bytes of a batch are exact beforehand.
 *
 * @example
 * import { trackingFrame } from 'headrace'
 * console.log(trackingFrame) // => { prefix: '{"batch":[', suffix: ']}', sentAt: true }
 */
export const trackingFrame: Frame = { prefix: '{"batch":[', suffix: ']}', sentAt: true }
