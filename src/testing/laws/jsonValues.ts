/** JSON data: values that survive, and values that careless code bends. */
import * as fc from 'fast-check'
import type { Json, JsonObject } from '../../event/json.ts'
import * as Limits from '../../event/limits.ts'
import { utf16Text } from './texts.ts'

const KEYS = ['', '0', '10', '01', '4294967294', '4294967295', '-1', 'constructor', 'toJSON', 'length', 'a.b']

/** Keys as they come: words, array indexes, the empty one, names that objects have. Never `__proto__`. */
export const key: fc.Arbitrary<string> = fc
  .oneof(fc.constantFrom(...KEYS), fc.nat({ max: 200 }).map(String), utf16Text)
  .filter((each) => each !== '__proto__')

const EDGES = [1e21, 1e20, 1e-7, 5e-324, Number.MAX_SAFE_INTEGER, Number.MAX_VALUE, 39.9]

/** Numbers that JSON gives back: finite, and never -0. */
export const jsonNumber: fc.Arbitrary<number> = fc
  .oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(...EDGES))
  .map((each) => each + 0)

const treeOf = (numbers: fc.Arbitrary<number>, keys: fc.Arbitrary<string>) =>
  fc.letrec<Record<'value', Json> & Record<'object', JsonObject>>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      ...[fc.constant(null), fc.boolean(), numbers, utf16Text],
      fc.array(tie('value'), { maxLength: 5 }),
      tie('object'),
    ),
    object: fc.dictionary(keys, tie('value'), { maxKeys: 5, noNullPrototype: true }),
  }))

const tree = treeOf(jsonNumber, key)

/** JSON data that `JSON.parse(JSON.stringify(data))` leaves as it is. */
export const jsonValue: fc.Arbitrary<Json> = tree.value

export const smallObject: fc.Arbitrary<JsonObject> = tree.object

/** Lists in one another, or objects, in an object: of `max` levels, or of fewer. */
const deepObject = (max: number): fc.Arbitrary<JsonObject> =>
  fc.tuple(fc.boolean(), fc.oneof(fc.constant(max), fc.integer({ min: 2, max }))).map(([isList, levels]) => {
    let inner: Json = 'core'
    for (let level = levels; level > 1; level--) inner = isList ? [inner] : { deep: inner }
    return { deep: inner }
  })

/** An object of JSON data: mostly small, sometimes empty, sometimes as deep as a part of an event may be. */
export const jsonObject: fc.Arbitrary<JsonObject> = fc.oneof(
  { weight: 16, arbitrary: smallObject },
  { weight: 3, arbitrary: fc.constant({}) },
  // The event itself is the first of 256 levels (EV9).
  deepObject(Limits.nesting - 1),
)

const hostile = treeOf(
  fc.oneof(jsonNumber, fc.constantFrom(-0, 1e21, 1e-7, 2 ** 53 + 2, -(2 ** 53) - 2, 5e-324)),
  fc.oneof(fc.constantFrom('__proto__', 'a', 'A', 'userId', 'userid', 'USERID'), key),
)

/**
 * Values that come out of `JSON.parse` and trip careless code: -0, 1e21, 1e-7, 2^53 + 2, an own key
 * `__proto__`, keys that look like indexes or differ in case only, lone surrogates, up to 1,000 levels.
 */
export const hostileJson: fc.Arbitrary<Json> = fc.oneof(
  { weight: 8, arbitrary: hostile.value },
  { weight: 2, arbitrary: hostile.object },
  deepObject(1_000),
)

const EARLIEST = -62_167_219_200_000
const LATEST = 253_402_300_799_999
const LEAP_DAYS = ['0000-02-29', '1600-02-29', '2000-02-29', '2024-02-29', '9996-02-29'].map(Date.parse)

/** Milliseconds since 1970 in the years 0000 to 9999, with ends, leap days, and ends of seconds. */
export const instant: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(EARLIEST, LATEST, 0, -1, ...LEAP_DAYS, ...LEAP_DAYS.map((day) => day + 86_399_999)),
  fc.integer({ min: EARLIEST, max: LATEST }),
  fc
    .tuple(fc.integer({ min: 946_684_800, max: 1_893_456_000 }), fc.nat(999))
    .map(([seconds, millis]) => seconds * 1_000 + millis),
)

/** Timestamps as events carry them: `YYYY-MM-DDTHH:MM:SS.mmmZ`, years 0000 to 9999. */
export const isoTimestamp: fc.Arbitrary<string> = instant.map((each) => new Date(each).toISOString())
