import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { type Clock, systemClock } from '../../src/core/clock.ts'
import { anyOf, checked, checkOptions, decodeOptions, flag, func, list } from '../../src/core/options.ts'
import { methods, oneOf, option, optional, optionalKey, strict, text } from '../../src/core/options.ts'
import { wholeNumber, withDefault, type Decoded, type Option } from '../../src/core/options.ts'
import { ConfigError, faultText } from '../../src/core/refusal.ts'

const faultsOf = (of: Option<unknown>, input: unknown): ReadonlyArray<string> => {
  const decoded = decodeOptions(of, input)
  return E.isLeft(decoded) ? decoded.left.map(faultText) : []
}

const hook = strict({ url: text, secret: optionalKey(text) })
const twice = [{ path: '[1].url', message: 'is that of hooks[0]' }]
const shape = {
  name: text,
  maxCount: withDefault(wholeNumber('', 1), 100),
  timeout: optional(wholeNumber('ms', 1, 5_000)),
  overflow: optional(oneOf('error', 'dropOldest')),
  clock: optional(methods<Clock>('a Clock', 'now', 'monotonic', 'schedule')),
  key: optional(func<(item: string) => string>()),
  drain: optional(anyOf<boolean | number>('must be true, false or a number', flag, wholeNumber('ms', 1))),
  hooks: optional(
    list('entries', 1, 2, hook, (all) => (1 in all && all[0]?.url === all[1].url ? twice : [])),
  ),
}
const options = strict(shape)

describe('decodeOptions', () => {
  it('answers the values with their defaults, and no key for what is missing or undefined', () => {
    expect(decodeOptions(options, { name: 'a', timeout: undefined, clock: systemClock })).toStrictEqual(
      E.right({ name: 'a', maxCount: 100, clock: systemClock }),
    )
    expectTypeOf<Decoded<typeof shape>['maxCount']>().toEqualTypeOf<number>()
    expectTypeOf<Decoded<typeof shape>['overflow']>().toEqualTypeOf<'error' | 'dropOldest' | undefined>()
  })

  it('names every fault with its path', () => {
    const input = {
      ...{ maxCount: 'many', timeout: 6_000, overflow: 'wait', clock: {}, key: 1, drain: 'yes', host: 1 },
      ...{ hooks: [{ url: '', secret: undefined, tsl: 1 }, 7, 8], port: 2 },
    }
    expect(faultsOf(options, input)).toStrictEqual([
      'name is missing: it must be a string that is not empty',
      'maxCount must be a whole number from 1, not "many"',
      'timeout must be a whole number of ms from 1 to 5000, not 6000',
      'overflow must be one of error, dropOldest, not "wait"',
      'clock must be a Clock, an object with now, monotonic, schedule, not an object',
      ...['key must be a function, not a number', 'drain must be true, false or a number'],
      'hooks must have 1 to 2 entries, not 3',
      'hooks[0].url must be a string that is not empty, not an empty one',
      'hooks[0].secret is undefined: set it, or leave the key out',
      'unknown option "hooks[0].tsl" (the options are url, secret)',
      ...['hooks[1] must be an object, not a number', 'hooks[2] must be an object, not a number'],
      expect.stringMatching(/^unknown option "host" \(the options are name, maxCount, [a-z, ]+\)$/i),
      'unknown option "port"',
    ])
    expect(faultsOf(options, { name: 'a', overflow: 'http://u:secret@h' })[0]).toMatch(/not a string$/)
  })

  it('applies the rule of a list or a record only to values that are right by themselves', () => {
    const twice = { name: 'a', hooks: [{ url: 'x' }, { url: 'x' }] }
    expect(faultsOf(options, twice)).toStrictEqual(['hooks[1].url is that of hooks[0]'])
    const least = strict({ min: wholeNumber('', 0), max: wholeNumber('', 0) }, ({ min, max }) =>
      min > max ? [{ path: 'max', message: 'must not be below min' }] : [],
    )
    expect(faultsOf(least, { min: 2, max: 1 })).toStrictEqual(['max must not be below min'])
    expect(faultsOf(least, { min: 2, max: -1 })).toStrictEqual(['max must be a whole number from 0, not -1'])
  })

  it('takes checks of a room: faults with paths below the option, and another value', () => {
    const headers = checked<Record<string, string>>(() => [
      { path: 'Host', message: 'cannot be set' },
      { path: '[1]', message: 'is no header name' },
    ])
    const upper = option('upper', (value) => (value === 'a' ? E.right('A') : E.left('must be a')))
    expect(faultsOf(strict({ headers, upper }), { headers: {}, upper: 'b' })).toStrictEqual([
      'headers.Host cannot be set',
      'headers[1] is no header name',
      'upper must be a',
    ])
    expect(decodeOptions(upper, 'a')).toStrictEqual(E.right('A'))
  })

  it('shows no value of a text, and answers a fault for an input that throws', () => {
    expect(faultsOf(strict({ secret: text }), { secret: ['hunter2'] }).join()).not.toContain('hunter2')
    expect(faultsOf(options, new Proxy({}, { get: () => expect.unreachable() }))).not.toStrictEqual([])
    expect(faultsOf(options, null)).toStrictEqual(['must be an object, not null'])
  })
})

it('checkOptions throws one ConfigError with every fault', () => {
  const check = () => checkOptions('client options', options, { name: 'a', maxCount: 'many', host: 1 })
  expect(check).toThrow(ConfigError)
  expect(check).toThrow(
    /^Invalid client options: maxCount must be .*; unknown option "host" \(the options are name, [a-z, ]+\)$/i,
  )
})
