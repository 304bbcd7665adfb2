/** Events of all seven kinds in canonical form, and the bodies and calls that they are written as. */
import * as fc from 'fast-check'
import { isRecord } from '../../core/json.ts'
import type { Fields } from '../../core/json.ts'
import { Alias, Delete, Group, Identify, Page, Screen, Track } from '../../event/model.ts'
import type { Event, Forwarded, Integrations, Kind } from '../../event/model.ts'
import * as Limits from '../../event/limits.ts'
import type { WireBody } from '../../event/webhookBody.ts'
import { arbitraryFor } from './codecArbitrary.ts'
import type { CodecArbitraryOptions } from './codecArbitrary.ts'
import { jsonObject, key, smallObject } from './jsonValues.ts'
import { isoTimestamp } from './moments.ts'
import { id, utf16Text } from './texts.ts'

const messageId: fc.Arbitrary<string> = fc.oneof(
  fc.uuid(),
  id.map((each) => each.slice(0, Limits.messageIdLength)),
  fc.constant('m'.repeat(Limits.messageIdLength)),
)

/** Maps of destinations by name, and `All`. */
export const integrations: fc.Arbitrary<Integrations> = fc.dictionary(
  fc.oneof(fc.constantFrom('All', 'Warehouse', 'warehouse'), key),
  fc.oneof(fc.boolean(), smallObject),
  { maxKeys: 4, noNullPrototype: true },
)

/** What the codecs of events do not say themselves. */
const options: CodecArbitraryOptions = {
  overrides: [
    ['Id', id],
    ['MessageId', messageId],
    ['Timestamp', isoTimestamp],
    ['JsonObject', jsonObject],
    ['Integrations', integrations],
  ],
}

/**
 * Canonical events by kind, with the texts, keys, numbers and depths that break careless code.
 *
 * @example
 * import { eventOf } from 'headrace/testing/laws'
 * import * as fc from 'fast-check'
 * fc.assert(fc.property(eventOf.track, (track) => track.event !== ''))
 */
export const eventOf: { readonly [K in Kind]: fc.Arbitrary<Extract<Event, { type: K }>> } = {
  page: arbitraryFor(Page, options),
  screen: arbitraryFor(Screen, options),
  identify: arbitraryFor(Identify, options),
  track: arbitraryFor(Track, options),
  alias: arbitraryFor(Alias, options),
  group: arbitraryFor(Group, options),
  delete: arbitraryFor(Delete, options),
}

/** Canonical events of all seven kinds. */
export const anyEvent: fc.Arbitrary<Event> = fc.oneof(...Object.values(eventOf))

/** What a body carries of an event: without `integrations`, and a delete without `messageId` (EV6). */
export const forwardedOf = (event: Event): Forwarded => {
  if (event.type === 'delete') return { type: 'delete', userId: event.userId, timestamp: event.timestamp }
  const { integrations: _beside, ...carried } = event
  return carried
}

/** The body of an event, written down from EV2 without looking at the codec. */
export const bodyOfForwarded = (event: Forwarded): WireBody => {
  if (event.type === 'delete') return { ...event }
  if (event.type !== 'alias') return { version: 1, ...event }
  const { userId, previousId, ...rest } = event
  return { version: 1, ...rest, 'Previous ID': previousId, 'User ID': userId }
}

/** The bodies that a webhook receives, of all seven kinds. */
export const wireBody: fc.Arbitrary<WireBody> = anyEvent.map((event) => bodyOfForwarded(forwardedOf(event)))

/** A call, and the event that the rules make of it. */
export interface TrackingCall {
  /** The call as people write it. */
  readonly call: Readonly<Record<string, unknown>>
  /** Its event, without `timestamp` and `messageId` where the call has none: they are filled in. */
  readonly event: Readonly<Record<string, unknown>>
}

const isEmpty = (value: unknown): boolean => isRecord(value) && Object.keys(value).length === 0

/** The object without some keys. */
export const without = (object: Fields, ...keys: ReadonlyArray<string>): Fields =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !keys.includes(name)))

const emptyData = (call: Fields): ReadonlyArray<string> =>
  call['type'] === 'screen' ? [] : ['properties', 'traits', 'context'].filter((name) => isEmpty(call[name]))

/** What people leave out of a call, or write in another form. The keys of an event come last, so that they win. */
const LOOSENINGS: Readonly<Record<string, (call: Fields) => Fields>> = {
  'no timestamp': (call) => without(call, 'timestamp'),
  'timestamp as a Date': (call) =>
    'timestamp' in call ? { ...call, timestamp: new Date(String(call['timestamp'])) } : call,
  'no message id': (call) => without(call, 'messageId'),
  'empty message id': (call) => ({ ...call, messageId: '' }),
  'empty ids': (call) => (call['type'] === 'delete' ? call : { userId: '', anonymousId: '', ...call }),
  'no empty data': (call) => without(call, ...emptyData(call)),
  'unknown keys': (call) => ({ ...call, sentAt: 1, version: 1, 'Previous ID': 'x', writeKey: 'k' }),
  'undefined keys': (call) => ({ name: undefined, category: undefined, properties: undefined, ...call }),
}

const looseCall = (events: fc.Arbitrary<Event>): fc.Arbitrary<TrackingCall> =>
  fc.tuple(events, fc.subarray(Object.keys(LOOSENINGS))).map(([event, names]) => {
    const call = names.reduce<Fields>((loose, name) => LOOSENINGS[name]?.(loose) ?? loose, { ...event })
    const filledIn = ['timestamp', 'messageId'].filter(
      (name) => call[name] === undefined || call[name] === '',
    )
    return { call, event: without({ ...event }, ...filledIn) }
  })

const pageTexts = fc.record({ title: utf16Text, url: utf16Text }, { requiredKeys: [], noNullPrototype: true })

/** A page with traits, which fill only those keys that its properties do not have (EV4). */
const pageWithTraits: fc.Arbitrary<TrackingCall> = fc
  .tuple(eventOf.page, pageTexts, smallObject, fc.boolean())
  .map(([page, texts, free, overlap]) => {
    const traits = {
      ...without(free, 'path', 'referrer'),
      ...texts,
      ...(overlap && { shared: 'from traits' }),
    }
    const properties = { ...page.properties, ...(overlap && { shared: 'from properties' }) }
    return {
      call: { ...page, properties, traits },
      event: { ...page, properties: { ...traits, ...properties } },
    }
  })

/** Calls as people write them, of the kinds: with what may be absent absent. Default: all seven. */
export const trackingCallOf = (...of: ReadonlyArray<Kind>): fc.Arbitrary<TrackingCall> => {
  const loose = looseCall(of.length === 0 ? anyEvent : fc.oneof(...of.map((kind) => eventOf[kind])))
  return of.length > 0 && !of.includes('page')
    ? loose
    : fc.oneof({ weight: 4 * (of.length || 7), arbitrary: loose }, { weight: 4, arbitrary: pageWithTraits })
}
