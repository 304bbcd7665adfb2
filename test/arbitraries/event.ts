/**
 * Events, bodies and calls for tests: all seven kinds, in canonical form, with the strings, keys, numbers and depths that
 * break careless code.
 */
import * as fc from 'fast-check'
import type { Event, Forwarded } from '../../src/event/model.ts'
import type { WireBody } from '../../src/event/webhookBody.ts'
import type { Json, JsonObject } from '../../src/event/json.ts'

const anyUnits = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 })
  .map((units) => String.fromCharCode(...units))

/** Any text, lone surrogates and characters that JSON escapes among it. */
export const text: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'grapheme' }) },
  { weight: 2, arbitrary: anyUnits },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '',
      '\ud83d',
      'a\udc00',
      '\u2028\u2029',
      '\u0000\u007f',
      '</script>&',
      'é',
      '😀',
      'toJSON',
    ),
  },
)

/** An id that is there: any text but the empty one. */
export const id: fc.Arbitrary<string> = text.filter((each) => each !== '')

/** Keys as they come: words, array indexes, the empty one, names that objects have. Never `__proto__`. */
export const key: fc.Arbitrary<string> = fc
  .oneof(
    fc.constantFrom(
      '',
      '0',
      '1',
      '10',
      '01',
      '4294967294',
      '4294967295',
      '-1',
      'constructor',
      'toJSON',
      'length',
      'a.b',
    ),
    fc.nat({ max: 200 }).map(String),
    text,
  )
  .filter((each) => each !== '__proto__')

const number: fc.Arbitrary<number> = fc
  .oneof(
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(1e21, 1e20, 1e-7, 5e-324, Number.MAX_SAFE_INTEGER, Number.MAX_VALUE, 39.9),
  )
  .map((each) => each + 0)

const tree = fc.letrec<{ json: Json; object: JsonObject; array: ReadonlyArray<Json> }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    number,
    text,
    tie('array'),
    tie('object'),
  ),
  array: fc.array(tie('json'), { maxLength: 5 }),
  object: fc.dictionary(key, tie('json'), { maxKeys: 5, noNullPrototype: true }),
}))

/** JSON data that stringify and parse leave as it is. */
export const json: fc.Arbitrary<Json> = tree.json

/** Objects and arrays in one another, `levels` of them, from outside an object. */
export const nested = (levels: number, at: (level: number) => boolean): JsonObject => {
  let inner: Json = 'core'
  for (let level = levels; level > 1; level--) inner = at(level) ? [inner] : { deep: inner }
  return { deep: inner }
}

/** How deep `properties`, `traits` or `context` may be: the event itself is the first of 256 levels (EV9). */
export const MOST_LEVELS = 255

const deepObject = fc
  .record({
    levels: fc.oneof(fc.constant(MOST_LEVELS), fc.integer({ min: 2, max: MOST_LEVELS })),
    mask: fc.nat(),
  })
  .map(({ levels, mask }) => nested(levels, (level) => ((mask >> (level % 30)) & 1) === 1))

/** Free data: mostly small, sometimes as deep as it may be. */
export const data: fc.Arbitrary<JsonObject> = fc.oneof(
  { weight: 8, arbitrary: tree.object },
  { weight: 1, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: deepObject },
)

/** Milliseconds since 1970 in the years 0000 to 9999, their ends included. */
export const millis: fc.Arbitrary<number> = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom(-62_167_219_200_000, 253_402_300_799_999, 0, -1) },
  { weight: 4, arbitrary: fc.integer({ min: -62_167_219_200_000, max: 253_402_300_799_999 }) },
  { weight: 4, arbitrary: fc.integer({ min: 946_684_800_000, max: 1_893_456_000_000 }) },
)

/** `YYYY-MM-DDTHH:MM:SS.mmmZ`. */
export const timestamp: fc.Arbitrary<string> = millis.map((each) => new Date(each).toISOString())

export const messageId: fc.Arbitrary<string> = fc.oneof(
  fc.uuid(),
  id.map((each) => each.slice(0, 256)),
  fc.constant('m'.repeat(256)),
)

export const integrations: fc.Arbitrary<Record<string, boolean | JsonObject>> = fc.dictionary(
  fc.oneof(fc.constantFrom('All', 'Warehouse', 'warehouse'), key),
  fc.oneof(fc.boolean(), tree.object),
  { maxKeys: 4, noNullPrototype: true },
)

const ids = fc.oneof(
  fc.record({ userId: id }, { noNullPrototype: true }),
  fc.record({ anonymousId: id }, { noNullPrototype: true }),
  fc.record({ userId: id, anonymousId: id }, { noNullPrototype: true }),
)

const common = { messageId, timestamp, context: data }
const maybe = { integrations }

/** Some of the members; one that was not chosen is absent, so none is undefined. */
const partlyFailed = <T extends Json>(members: Record<string, fc.Arbitrary<T>>): fc.Arbitrary<JsonObject> =>
  fc
    .record(members, { requiredKeys: [], noNullPrototype: true })
    .map((chosen) => chosen as Readonly<Record<string, T>>)

const named = (names: ReadonlyArray<string>): fc.Arbitrary<JsonObject> =>
  partlyFailed(Object.fromEntries(names.map((name) => [name, text])))

const withoutKeys = (object: JsonObject, keys: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !keys.includes(name)))

const PAGE_TEXTS = ['path', 'referrer', 'title', 'url']

export const pageProperties: fc.Arbitrary<JsonObject> = fc
  .tuple(data, named(PAGE_TEXTS))
  .map(([free, texts]) => ({ ...withoutKeys(free, PAGE_TEXTS), ...texts }))

const SCREEN_PARTS = { device: ['model', 'type'], os: ['name', 'version'], app: ['build', 'name', 'version'] }

const screenContext: fc.Arbitrary<JsonObject> = fc
  .tuple(
    data,
    partlyFailed(
      Object.fromEntries(Object.entries(SCREEN_PARTS).map(([part, names]) => [part, named(names)])),
    ),
  )
  .map(([free, parts]) => ({ ...withoutKeys(free, Object.keys(SCREEN_PARTS)), ...parts }))

const made = <Own>(
  own: { [Name in keyof Own]: fc.Arbitrary<Own[Name]> },
  optional: Record<string, fc.Arbitrary<unknown>> = {},
): fc.Arbitrary<Own> =>
  fc
    .tuple(
      fc.record(own, { noNullPrototype: true }),
      fc.record({ ...maybe, ...optional }, { requiredKeys: [], noNullPrototype: true }),
    )
    .map(([required, more]) => ({ ...required, ...more }))

const identified = <E extends Event>(event: fc.Arbitrary<E>): fc.Arbitrary<E> =>
  fc.tuple(event, ids).map(([each, known]) => ({ ...each, ...known }))

const kind = <Type extends string>(type: Type): { type: fc.Arbitrary<Type> } => ({ type: fc.constant(type) })

/** Canonical events by kind. */
export const events = {
  page: identified(
    made({ ...kind('page'), ...common, properties: pageProperties }, { name: text, category: text }),
  ),
  screen: identified(
    made({ ...kind('screen'), ...common, context: screenContext }, { name: text, properties: data }),
  ),
  identify: identified(made({ ...kind('identify'), ...common, traits: data })),
  track: identified(made({ ...kind('track'), ...common, event: id, properties: data })),
  alias: made({ ...kind('alias'), ...common, previousId: id, userId: id }, { anonymousId: id }),
  group: identified(made({ ...kind('group'), ...common, groupId: id, traits: data })),
  delete: fc.record({ ...kind('delete'), userId: id, timestamp, messageId }, { noNullPrototype: true }),
} satisfies Record<Event['type'], fc.Arbitrary<Event>>

/** Canonical events of all seven kinds. */
export const event: fc.Arbitrary<Event> = fc.oneof(...Object.values(events))

/** What a body carries of an event: without `integrations`, and a delete without `messageId` (EV6). */
export const forwardedOf = (each: Event): Forwarded => {
  if (each.type === 'delete') return { type: 'delete', userId: each.userId, timestamp: each.timestamp }
  const { integrations: _beside, ...carried } = each
  return carried
}

/** Canonical events as a body carries them. */
export const forwarded: fc.Arbitrary<Forwarded> = event.map(forwardedOf)

/** The body of an event, written down from EV2 without looking at the codec. */
export const bodyOfForwarded = (each: Forwarded): WireBody => {
  if (each.type === 'delete') return { ...each }
  if (each.type !== 'alias') return { version: 1, ...each }
  const { userId, previousId, ...rest } = each
  return { version: 1, ...rest, 'Previous ID': previousId, 'User ID': userId }
}

/** Canonical bodies of all seven kinds. */
export const body: fc.Arbitrary<WireBody> = forwarded.map(bodyOfForwarded)
