/**
 * A message as the public tracking convention writes it (CO4, CO5): what the client sends and a collector takes.
 *
 * @module
 */

import { isRecord } from '../core/json.ts'
import type { Json, JsonObject } from './json.ts'
import type { Delete, Event } from './kinds.ts'
import type { Frame } from './payload.ts'
import { fromMillis } from './timestamp.ts'

/** Who sends: every message names it in `context.library`. */
export interface Library {
  readonly name: string
  readonly version: string
}

/** Of the seven kinds those that the convention has; a deletion is asked for in another way (CO2). */
export type Tracked = Exclude<Event, Delete>

type Context = Readonly<Record<string, Json | Library>>

/** A message in the convention's form, for `JSON.stringify`, which leaves out the keys that have no value. */
export interface TrackingMessage {
  readonly type: Tracked['type']
  readonly messageId: string
  /** `YYYY-MM-DDTHH:MM:SS.mmmZ` (EV5). */
  readonly timestamp: string
  readonly context: Context
  readonly [key: string]: Json | Context | undefined
}

/** Asked for every message, so without a list of its keys. */
const isEmpty = (data: JsonObject): boolean => {
  for (const _key in data) return false
  return true
}

const filled = (data: JsonObject): JsonObject | undefined => (isEmpty(data) ? undefined : data)

/** A caller may say which library speaks, but not that there is none (clients/8, U22). */
const contextOf = (context: JsonObject, library: Library): Context => {
  if (isEmpty(context)) return { library }
  return isRecord(context['library']) ? context : { ...context, library }
}

/**
 * The message for an event. The order of the keys never changes, and nothing is made up: `properties` and `traits` are there only if
 * they hold something (a screen's as given), `integrations` goes out as it came, and `context` always has a `library`: the caller's
 * own if it is an object, else the given one. It shares its data with the event: write it at once.
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
  // One literal a kind: all messages of a kind have one shape, which is written faster than keys that come and go.
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

const BEFORE = '{"batch":['

/** The time of sending in the one form that is 24 characters at every moment; a clock that shows no such moment gets 1970. */
const after = (now: number): string => `],"sentAt":"${fromMillis(now) ?? '1970-01-01T00:00:00.000Z'}"}`

/**
 * The envelope of the public tracking convention: `{"batch":[…],"sentAt":"…"}`. The time of sending is written at each attempt, and
 * has a fixed width, so a batch's bytes are exact beforehand (BY1, CO5).
 *
 * @example
 * import { trackingFrame } from 'headrace'
 * console.log(trackingFrame.before(0) + trackingFrame.after(0)) // => {"batch":[],"sentAt":"1970-01-01T00:00:00.000Z"}
 */
export const trackingFrame: Frame = {
  size: BEFORE.length + after(0).length,
  before: () => BEFORE,
  after,
}
