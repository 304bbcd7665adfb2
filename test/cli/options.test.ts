import { left, right } from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import {
  all,
  wrong,
  parseChoice,
  parseCount,
  parseDuration,
  parseHeaders,
  parseRate,
  readSecret,
} from '../../src/cli/options.ts'

describe('parseDuration', () => {
  test.each([
    ['250ms', 250],
    ['5s', 5_000],
    ['1.5m', 90_000],
    ['4h', 14_400_000],
    ['0.4s', 400],
    ['8760h', 31_536_000_000],
  ])('%s', (text, millis) => expect(parseDuration('--timeout', text)).toEqual(right(millis)))

  test.each(['', '5', 's', '5 s', '-5s', '5S', '1h30m', '5sec', 'Infinitys', 'NaNs', '1e3s', '0x5s', '٥s'])(
    '%j is none',
    (text) =>
      expect(parseDuration('--timeout', text)).toEqual(
        left(['--timeout must be a number with a unit, such as 250ms, 5s, 10m or 4h']),
      ),
  )

  it('has bounds', () => {
    expect(parseDuration('--timeout', '0s')).toEqual(left(['--timeout must be at least 1ms']))
    expect(parseDuration('--retry-for', '0s', 0)).toEqual(right(0))
    expect(parseDuration('--timeout', '0.4ms')).toEqual(left(['--timeout must be at least 1ms']))
    expect(parseDuration('--timeout', '8761h')._tag).toBe('Left')
    expect(parseDuration('--timeout', `${'9'.repeat(400)}h`)._tag).toBe('Left')
  })

  it('answers a whole number from 1, or a fault, for any text', () => {
    const text = fc.oneof(
      fc.string(),
      fc
        .tuple(fc.nat(99_999), fc.nat(99), fc.constantFrom('ms', 's', 'm', 'h'))
        .map(([whole, part, unit]) => `${whole}.${part}${unit}`),
    )
    fc.assert(
      fc.property(text, (each) => {
        const parsed = parseDuration('--timeout', each)
        return parsed._tag === 'Left' || (Number.isSafeInteger(parsed.right) && parsed.right >= 1)
      }),
    )
  })
})

describe('parseCount', () => {
  it('takes whole numbers within bounds', () => {
    expect(parseCount('--once', '1', 1, 5)).toEqual(right(1))
    expect(parseCount('--once', '5', 1, 5)).toEqual(right(5))
  })
  test.each(['0', '6', '-1', '1.5', '', ' 1', '1e0', '0x1', 'NaN'])('%j is none', (text) =>
    expect(parseCount('--once', text, 1, 5)).toEqual(left(['--once must be a whole number from 1 to 5'])),
  )
})

describe('parseRate', () => {
  test.each([
    ['0', 0],
    ['0.3', 0.3],
    ['30%', 0.3],
    ['1', 1],
    ['100%', 1],
  ])('%s', (text, rate) => expect(parseRate('--fail', text)).toEqual(right(rate)))
  test.each(['', '2', '101%', '-0.1', 'half', '.5'])('%j is none', (text) =>
    expect(parseRate('--fail', text)).toEqual(
      left(['--fail must be a share such as 0.3 or 30%, from 0 to 1']),
    ),
  )
})

test('parseChoice names the words', () => {
  expect(parseChoice('--output', 'json', ['lines', 'json', 'quiet'])).toEqual(right('json'))
  expect(parseChoice('--output', 'xml', ['lines', 'json', 'quiet'])).toEqual(
    left(['--output must be lines, json or quiet']),
  )
})

describe('parseHeaders', () => {
  it('splits at the first colon and trims', () =>
    expect(parseHeaders('--header', ['X-A: b', 'Authorization:Bearer a:b', 'X-Empty:'])).toEqual(
      right({ 'X-A': 'b', Authorization: 'Bearer a:b', 'X-Empty': '' }),
    ))
  it('keeps a name that objects have already', () => {
    const parsed = parseHeaders('--header', ['__proto__: a', 'constructor: b'])
    expect(parsed._tag === 'Right' && Object.keys(parsed.right)).toEqual(['__proto__', 'constructor'])
  })
  it('names the place of what is wrong, and never the text', () => {
    expect(parseHeaders('--header', ['hunter2'])).toEqual(
      left(["--header must be a name, a colon and a value, such as 'X-Team: blue'"]),
    )
    expect(parseHeaders('--header', ['A: 1', ': hunter2'])).toEqual(
      left(["--header number 2 must be a name, a colon and a value, such as 'X-Team: blue'"]),
    )
    expect(parseHeaders('--header', ['X-A: 1', 'x-a: 2'])).toEqual(
      left(['--header number 2 has a name that was given before: give each header once']),
    )
  })
})

describe('readSecret', () => {
  const sentence = (result: ReturnType<typeof readSecret>) => (result._tag === 'Left' ? result.left[0] : '')

  it('hides what it found', () => {
    const secret = readSecret('--secret-env', 'S', { S: 'hunter2' })
    expect(secret._tag).toBe('Right')
    expect(JSON.stringify(secret)).not.toContain('hunter2')
  })
  test.each([
    ['not set', {}, /the one it names is not set/],
    ['empty', { hunter2: '' }, /the one it names is empty/],
    ['padded', { hunter2: 'hunter2 ' }, /must not begin or end with white space/],
    ['a key of every object', Object.create({ hunter2: 'x' }) as Record<string, string>, /is not set/],
  ])('%s: an error that names neither the variable nor the secret', (_, env, pattern) => {
    const said = sentence(readSecret('--secret-env', 'hunter2', env))
    expect(said).toMatch(pattern)
    expect(said).toMatch(/^--secret-env /)
    expect(said).not.toContain('hunter2')
  })
})

describe('Checked', () =>
  it('collects everything that is wrong, or all values', () => {
    expect(all({ a: right(1), b: right('x') })).toEqual(right({ a: 1, b: 'x' }))
    expect(all({ a: wrong('one'), b: right('x'), c: left(['two', 'three']) })).toEqual(
      left(['one', 'two', 'three']),
    )
  }))
