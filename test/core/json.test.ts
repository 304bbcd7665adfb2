import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { valueOr } from '../../src/core/either.ts'
import { jsonFault } from '../../src/core/json.ts'
import { same } from '../support/check.ts'
import { character } from '../../src/testing/laws/texts.ts'

const isJson = (text: string) => valueOr<unknown, undefined>(undefined, () => JSON.parse(text)) !== undefined

const valid = fc.oneof(
  fc.json({ maxDepth: 4 }),
  fc.jsonValue({ maxDepth: 4, noUnicodeString: false }).map((value) => JSON.stringify(value, null, 2)),
  fc.constantFrom('-0.5e+10', ' [1E3 , -1] ', '"\\ud800\\/\\b"', '{"":{}}', '\t[[],[{}]]\r\n'),
)

/** What is put into a text, or in place of a character of it: JSON's own characters most of all. */
const piece = fc.oneof(
  fc.constantFrom(...Array.from('{}[]":,\\-+.eE01u tfn\n\u0000\u007f\ufeff')),
  fc.constantFrom('true', 'nul', '\\u12', '00', 'é'),
  fc.string({ maxLength: 3, unit: character }),
)

const edited = fc.tuple(valid, fc.nat(200), fc.nat(2), piece).map(([text, where, cut, put]) => {
  const at = where % (text.length + 1)
  return text.slice(0, at) + put + text.slice(at + cut)
})

it('finds a fault exactly where JSON.parse does not accept the text', () =>
  fc.assert(fc.property(edited, (text) => same(jsonFault(text) === undefined, isJson(text)))))

it.each<[string, number]>([
  ...Object.entries({ '': 0, '{"a":1': 6, '{"a":1,}': 7, "{'a':1}": 1, '{"a" 1}': 5, '[1,]': 3, '[1 2]': 3 }),
  ...Object.entries({ '[': 1, '{} {}': 3, '"abc': 4, '"a\tb"': 2, '"\\x"': 1, '"\\u12g4"': 1, trUe: 0 }),
  ...Object.entries({ '01': 1, '-': 0, '1.e5': 1, ' NaN': 1, '[1}': 2 }),
])('finds in %j the character %i', (text, at) => expect(jsonFault(text)).toBe(at))

it('goes through a million brackets', () => expect(jsonFault('['.repeat(1_000_000))).toBe(1_000_000))

it('goes through a long string with escapes', () =>
  expect(jsonFault(`"${'\\n'.repeat(5_000_000)}`)).toBe(10_000_001))
