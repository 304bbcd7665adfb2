/**
 * The model: seven kinds of events as one tagged union keyed by `type` (EV1). The wire form is not the model: what a
 * webhook body looks like is known in `WebhookBody.ts` alone.
 *
 * An event in this form is canonical: no key has an undefined value, ids are not empty, the timestamp is in its one form,
 * `context`, `properties` and `traits` are there. Codecs make such events; code that makes them by hand must do the same.
 *
 * @module
 */

import type { Integrations } from './integrations.ts'
import type { JsonObject } from './json.ts'

/** What six of the seven kinds carry. */
interface Common {
  /** Names the message, so that receivers can tell a repetition (EV2). */
  readonly messageId: string
  /** `YYYY-MM-DDTHH:MM:SS.mmmZ` (EV5). */
  readonly timestamp: string
  /** What is known about device, address and the like; empty if nothing was given (EV2). */
  readonly context: JsonObject
  /**
   * Which destinations it may go to (EV10). Routing reads it before anything is encoded; no body carries it, so it is not in
   * `Forwarded`.
   */
  readonly integrations?: Integrations
}

/** Whom it is about: at least one of the two is there, and both are kept when both are known (EV2). */
interface Identified {
  readonly userId?: string
  readonly anonymousId?: string
}

/** The properties of a page; the four named ones are strings (EV3). */
export interface PageProperties extends JsonObject {
  readonly path?: string
  readonly referrer?: string
  readonly title?: string
  readonly url?: string
}

/** Somebody saw a page. */
export interface Page extends Common, Identified {
  readonly type: 'page'
  readonly name?: string
  readonly category?: string
  readonly properties: PageProperties
}

/**
 * Somebody saw a screen of an app. When `context.device`, `context.os` and `context.app` are there, they are objects whose
 * `model`, `type`, `name`, `version` and `build` are strings (EV3).
 */
export interface Screen extends Common, Identified {
  readonly type: 'screen'
  readonly name?: string
  /** The source names none for a screen (seed/A2), so they are carried only when they were given. */
  readonly properties?: JsonObject
}

/** What is known about a user. */
export interface Identify extends Common, Identified {
  readonly type: 'identify'
  readonly traits: JsonObject
}

/** Somebody did something. */
export interface Track extends Common, Identified {
  readonly type: 'track'
  readonly event: string
  readonly properties: JsonObject
}

/** Two ids are one person: `previousId` is the old one, `userId` the new one (EV1). */
export interface Alias extends Common {
  readonly type: 'alias'
  readonly previousId: string
  readonly userId: string
  readonly anonymousId?: string
}

/** Somebody belongs to a group; the traits are the group's. */
export interface Group extends Common, Identified {
  readonly type: 'group'
  readonly groupId: string
  readonly traits: JsonObject
}

/** What the body of a delete holds: nothing but whom, and when (EV2). */
export interface ForwardedDelete {
  readonly type: 'delete'
  readonly userId: string
  readonly timestamp: string
}

/** Somebody asked to be forgotten. Integrations do not apply (CO2), and there is no context. */
export interface Delete extends ForwardedDelete {
  /** Travels beside the body: it is the payload's id, and the opt-in header carries it for all kinds (EV2). */
  readonly messageId: string
}

/** Something a user did or is. */
export type Event = Page | Screen | Identify | Track | Alias | Group | Delete

/** The seven kinds by name. */
export type Kind = Event['type']

type Routed = Page | Screen | Identify | Track | Alias | Group

type WithoutRouting<E> = E extends unknown ? Omit<E, 'integrations'> : never

/**
 * What a webhook body carries of an event. The round trip of EV6 is a law about this type: what the body cannot carry
 * is not in it. Two things travel beside the body instead: the `integrations` of an event have done their work before it is
 * encoded, and the `messageId` of a delete is the payload's id. Every `Event` is a `Forwarded`.
 */
export type Forwarded = WithoutRouting<Routed> | ForwardedDelete
