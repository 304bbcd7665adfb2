/** Events of all seven kinds in canonical form, and the bodies and calls that they are written as. */
import * as fc from 'fast-check'
import type { Fields } from '../../core/json.ts'
import { Alias, Delete, Group, Identify, Page, Screen, Track, callOf, type Kind } from '../../event/model.ts'
import type { Event } from '../../event/event.ts'
import { toWebhookBody, type WireBody } from '../../event/webhookBody.ts'
import { arbitraryFor } from './codecArbitrary.ts'

/**
 * Canonical events by kind, with the texts, keys, numbers and depths that break careless code.
 *
 * @example
 * import { eventOf } from 'headrace/testing/laws'
 * import * as fc from 'fast-check'
 * fc.assert(fc.property(eventOf.track, (track) => track.event !== ''))
 */
export const eventOf: { readonly [K in Kind]: fc.Arbitrary<Extract<Event, { type: K }>> } = {
  page: arbitraryFor(Page),
  screen: arbitraryFor(Screen),
  identify: arbitraryFor(Identify),
  track: arbitraryFor(Track),
  alias: arbitraryFor(Alias),
  group: arbitraryFor(Group),
  delete: arbitraryFor(Delete),
}

/** Canonical events of all seven kinds. */
export const anyEvent: fc.Arbitrary<Event> = fc.oneof(...Object.values(eventOf))

export const without = (object: Fields, ...keys: ReadonlyArray<string>): Fields =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !keys.includes(name)))

/** The bodies that a webhook receives, of all seven kinds. */
export const wireBody: fc.Arbitrary<WireBody> = anyEvent.map(toWebhookBody)

/** A call, and the event that the rules make of it. */
export interface TrackingCall {
  /** The call as people write it. */
  readonly call: Readonly<Record<string, unknown>>
  /** Its event, without `timestamp` and `messageId` where the call has none: they are filled in. */
  readonly event: Readonly<Record<string, unknown>>
}

/** Calls with members left out, or in another form. The keys of an event come last, so that they win. */
const LOOSENINGS: ReadonlyArray<(call: Fields) => Fields> = [
  (call) => without(call, 'timestamp'),
  (call) => ('timestamp' in call ? { ...call, timestamp: new Date(String(call['timestamp'])) } : call),
  (call) => without(call, 'messageId'),
  (call) => ({ ...call, messageId: '' }),
  (call) => (call['type'] === 'delete' ? call : { userId: '', anonymousId: '', ...call }),
  (call) => ({ sentAt: 1, writeKey: 'k', name: undefined, properties: undefined, ...call }),
]

const looseCall = (events: fc.Arbitrary<Event>): fc.Arbitrary<TrackingCall> =>
  fc.tuple(events, fc.boolean(), fc.subarray([...LOOSENINGS])).map(([event, isShort, loosenings]) => {
    const start = { ...(isShort ? callOf(event) : event) }
    const call = loosenings.reduce<Fields>((loose, loosen) => loosen(loose), start)
    const filledIn = ['timestamp', 'messageId'].filter((name) => (call[name] ?? '') === '')
    return { call, event: without({ ...event }, ...filledIn) }
  })

/** A page with traits, which fill only those keys that its properties do not have. */
const pageWithTraits: fc.Arbitrary<TrackingCall> = fc
  .tuple(eventOf.page, eventOf.page)
  .map(([page, { properties: traits }]) => ({
    call: { ...page, traits },
    event: { ...page, properties: { ...traits, ...page.properties } },
  }))

/** Calls as people write them, of the kinds, with some optional members absent. Default: all seven. */
export const trackingCallOf = (...of: ReadonlyArray<Kind>): fc.Arbitrary<TrackingCall> => {
  const loose = looseCall(of.length === 0 ? anyEvent : fc.oneof(...of.map((kind) => eventOf[kind])))
  return of.length > 0 && !of.includes('page')
    ? loose
    : fc.oneof({ weight: of.length || 7, arbitrary: loose }, pageWithTraits)
}
