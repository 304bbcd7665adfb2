import { left, right } from 'fp-ts/lib/Either.js'
import { expect, it, test } from 'vitest'
import * as as from '../../src/cli/options.ts'

type AnyParse = (text: string, env: Readonly<Record<string, string>>) => unknown

const parses: Readonly<Record<string, AnyParse>> = {
  duration: as.duration(1),
  durationOrZero: as.duration(0),
  count: as.count(1, 5),
  rate: as.rate,
  choice: as.choice('lines', 'json', 'quiet'),
  text: as.text,
}

test.each([
  ['duration', ['250ms', 250], ['5s', 5_000], ['1.5m', 90_000], ['4h', 14_400_000], ['0.4s', 400]],
  ['duration', ['8760h', 31_536_000_000]],
  ['durationOrZero', ['0s', 0]],
  ['count', ['1', 1], ['5', 5]],
  ['rate', ['0', 0], ['0.3', 0.3], ['30%', 0.3], ['1', 1], ['100%', 1]],
  ['choice', ['json', 'json']],
  ['text', ['a b', 'a b']],
] as ReadonlyArray<[string, ...Array<[string, unknown]>]>)('%s takes', (name, ...pairs) => {
  for (const [text, value] of pairs) expect(parses[name]?.(text, {})).toEqual(right(value))
})

const FORM = 'must be a number with a unit, such as 250ms, 5s, 10m or 4h'
test.each([
  ['duration', FORM, '', '5', 's', '5 s', '-5s', '5S', '1h30m', '5sec', 'Infinitys', 'NaNs', '1e3s', '٥s'],
  ['duration', 'must be at least 1ms', '0s', '0.4ms'],
  ['duration', 'must be at most 8760h, which is a year', '8761h', `${'9'.repeat(400)}h`],
  ['count', 'must be a whole number from 1 to 5', '0', '6', '-1', '1.5', '', ' 1', '1e0', '0x1', 'NaN'],
  ['rate', 'must be a share such as 0.3 or 30%, from 0 to 1', '', '2', '101%', '-0.1', 'half', '.5', '1%x'],
  ['choice', 'must be lines, json or quiet', 'xml', ''],
  ['text', 'must not be empty', ''],
])('%s refuses: %s', (name, fault, ...texts) => {
  for (const text of texts) expect(parses[name]?.(text, {})).toEqual(left(fault))
})

it('headers are split at the first colon; a fault names the place and never the text', () => {
  const headers = right({ 'X-A': 'b', Authorization: 'Bearer a:b', 'X-Empty': '' })
  expect(as.headers(['X-A: b', 'Authorization:Bearer a:b', 'X-Empty:'], {})).toEqual(headers)
  const form = "must be a name, a colon and a value, such as 'X-Team: blue'"
  expect(as.headers(['hunter2'], {})).toEqual(left(form))
  expect(as.headers(['A: 1', ': hunter2'], {})).toEqual(left(`number 2 ${form}`))
  const twice = left('number 2 has a name that was given before: give each header once')
  expect(as.headers(['X-A: 1', 'x-a: 2'], {})).toEqual(twice)
})

test.each([
  ['not set', {}, /that is not set: set it with export/],
  ['empty', { hunter2: '' }, /that is empty/],
  ['padded', { hunter2: 'hunter2 ' }, /must not begin or end with white space/],
  ['a key of every object', Object.create({ hunter2: 'x' }) as Record<string, string>, /is not set/],
])('a secret that is %s: the fault names neither the variable nor the secret', (_, env, pattern) => {
  const secret = as.secret('hunter2', env)
  expect(secret).toEqual(left(expect.stringMatching(pattern)))
  expect(JSON.stringify(secret)).not.toContain('hunter2')
})

it('header variables are read from the environment; a fault shows neither name nor value', () => {
  const env = { KEY: 'Bearer a=b: c', EMPTY: '' }
  expect(as.headerVariables(['Authorization=KEY'], env)).toEqual(right({ Authorization: 'Bearer a=b: c' }))
  expect(as.headerVariables(['A=KEY', 'hunter2'], env)).toEqual(left('number 2 must be NAME=VARIABLE'))
  const fault = { left: expect.stringContaining('names a variable') as unknown }
  for (const name of ['NONE', 'EMPTY']) expect(as.headerVariables([`A=${name}`], env)).toMatchObject(fault)
})
