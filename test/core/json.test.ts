import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonFault } from '../../src/core/json.ts'
import { same } from '../support/check.ts'
import { character } from '../../src/testing/laws/texts.ts'

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

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

const edited = fc
  .tuple(valid, fc.nat({ max: 200 }), fc.nat({ max: 2 }), piece)
  .map(([text, where, cut, put]) => {
    const at = where % (text.length + 1)
    return { at, text: text.slice(0, at) + put + text.slice(at + cut) }
  })

describe('jsonFault', () => {
  it('finds a fault exactly where JSON.parse does not accept the text', () =>
    fc.assert(fc.property(edited, ({ text }) => same(jsonFault(text) === undefined, isJson(text)))))

  it('finds it not before the edit, and says of the text before it that it only ends too early', () =>
    fc.assert(
      fc.property(edited, ({ at, text }) => {
        const fault = jsonFault(text)
        if (fault === undefined) return
        expect(fault.at).toBeGreaterThanOrEqual(at)
        const before = text.slice(0, fault.at)
        expect(jsonFault(before)?.at ?? before.length).toBe(before.length)
        expect(jsonFault(text.slice(0, fault.at + 1))).toEqual(fault)
      }),
    ))

  it.each([
    ['', 0, 'a value'],
    ['{"a":1', 6, 'a comma or }'],
    ['{"a":1,}', 7, 'a key in double quotes'],
    ["{'a':1}", 1, 'a key in double quotes or }'],
    ['{"a" 1}', 5, 'a colon'],
    ['[1,]', 3, 'a value'],
    ['[1 2]', 3, 'a comma or ]'],
    ['[', 1, 'a value or ]'],
    ['{} {}', 3, 'nothing more'],
    ['"abc', 4, 'a closing "'],
    ['"a\tb"', 2, 'no control character within a text: write it as \\u'],
    ['"\\x"', 2, 'one of " \\ / b f n r t u after a backslash'],
    ['"\\u12g4"', 5, 'four hexadecimal digits after \\u'],
    ['trUe', 2, 'true'],
    ['01', 1, 'nothing more'],
    ['-', 1, 'a digit'],
    ['1.e5', 2, 'a digit'],
    ['NaN', 0, 'a value'],
  ])('says of %j that at %i should be %s', (text, at, expected) =>
    expect(jsonFault(text)).toEqual({ at, expected }),
  )

  it('goes through a million brackets', () =>
    expect(jsonFault('['.repeat(1_000_000))).toEqual({ at: 1_000_000, expected: 'a value or ]' }))
})
