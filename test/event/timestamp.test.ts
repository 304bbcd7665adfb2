import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { notATimestamp, toTimestamp } from '../../src/event/timestamp.ts'
import { isoTimestamp } from '../../src/testing/laws/jsonValues.ts'
import { same, forAll } from '../support/check.ts'
import { character } from '../../src/testing/laws/texts.ts'

// What the law EV5 does not make; it has zones, fractions, leap days and forms without seconds.
const taken: ReadonlyArray<readonly [unknown, string]> = [
  [new Date(0), '1970-01-01T00:00:00.000Z'],
  ['2024-02-29t13:14:15z', '2024-02-29T13:14:15.000Z'],
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
]

it.each(taken)('reads %s', (value, expected) => {
  expect([toTimestamp(value), toTimestamp(expected)]).toEqual([expected, expected])
})

it.each<unknown>([
  ...[0, 1_700_000_000_000, null, {}, '', 'now', new Date(NaN), new Date(Date.UTC(10_000, 0))],
  ...['2024-02-29', '2024-02-29T13:14:15', '2024-02-29 13:14:15Z', '2023-02-29T00:00:00Z'],
  ...['1900-02-29T00:00:00Z', '2024-04-31T00:00:00Z', '2024-00-01T00:00:00Z', '2024-01-00T00:00:00Z'],
  ...['2024-01-01T24:00:00Z', '2024-01-01T00:60:00Z', '2024-01-01T00:00:60Z', '2024-01-01T00:00:00+24:00'],
  ...['2024-01-01T00:00:00+00:60', '+002024-01-01T00:00:00Z', '-000001-01-01T00:00:00Z'],
  ...['10000-01-01T00:00:00Z', '0000-01-01T00:00:00+00:01', '9999-12-31T23:59:00-00:01'],
  ...[' 2024-01-01T00:00:00Z', '2024-01-01T00:00:00Z\n'],
  ...['２０24-01-01T00:00:00Z', '2024-01-01T00:00:00.000é'],
  // It only looks like a Date.
  Object.create(Date.prototype),
])('refuses %#', (value) => expect(toTimestamp(value)).toBeUndefined())

it('says what is wrong', () => {
  expect(notATimestamp(new Date(Number.NaN))).toMatch(/^must be a Date or .*, on a day that exists/)
  expect(notATimestamp(1_700_000_000_000)).toMatch(/^must be a Date or an ISO 8601 .*, not a number$/)
  expect(notATimestamp(undefined)).toMatch(/^is missing: it must be a Date/)
})

it('takes as it is what Date reads and writes', () => {
  const others = fc.oneof(fc.constantFrom(...'0123456789:-TZ.+ é٣'), character)
  forAll(isoTimestamp, fc.nat({ max: 23 }), others, (text, at, other) => {
    same(toTimestamp(text), text)
    const changed = text.slice(0, at) + other + text.slice(at + 1)
    // The machine's own reading is the judge; it takes 24:00 for the next day.
    const read = new Date(changed)
    same(toTimestamp(changed) === changed, !Number.isNaN(read.getTime()) && read.toISOString() === changed)
  })
})
