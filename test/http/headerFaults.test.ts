import { describe, expect, it } from 'vitest'
import { headerFaults } from '../../src/http/target.ts'

const paths = (headers: unknown): ReadonlyArray<string> => headerFaults(headers).map(({ path }) => path)

describe('static headers (DE11)', () => {
  it.each([
    [undefined],
    [{}],
    [
      {
        'X-Api-Key': 'k',
        Authorization: 'Bearer a.b-c_d~e+f/g=',
        "x!#$%&'*+.^_`|~-9": '!"#$%&()*+,-./:;<=>?@[]^_`{|}~',
      },
    ],
    [{ 'X-Empty': '', 'X-Inside': 'a b\tc' }],
  ])('takes %o', (headers) => {
    expect(headerFaults(headers)).toEqual([])
  })

  it.each(['a\r\nX-Evil: b', 'a\nb', 'a\0b', 'é', '😀', 'a\u007f', ' a', 'a ', '\ta', '\n'])(
    'refuses the value %j with the name only (webhooks/S17, S19)',
    (value) => {
      const faults = headerFaults({ 'X-Api-Key': value })
      expect(faults).toHaveLength(1)
      expect(faults[0]?.path).toBe('X-Api-Key')
    },
  )

  it('never repeats a value', () => {
    expect(
      JSON.stringify(headerFaults({ 'X-Api-Key': 'hunter2\n', Host: 'hunter2', 'hunter2 ': '' })),
    ).not.toContain('hunter2')
  })

  it.each(['x a', 'x:a', '', 'x\r\ny', 'ü', '(x)', 'x\0'])('refuses the name %j (webhooks/S18)', (name) => {
    expect(paths({ ok: '1', [name]: 'v' })).toEqual(['[1]'])
  })

  it.each(
    [
      'Content-Type',
      'Content-Length',
      'Content-Encoding',
      'Host',
      'Connection',
      'Keep-Alive',
      'Transfer-Encoding',
      'Expect',
      'Upgrade',
      'User-Agent',
      'X-Signature',
    ].flatMap((name) => [name, name.toLowerCase(), name.toUpperCase()]),
  )('refuses %s, which belongs to the request (webhooks/S20, S21)', (name) => {
    expect(paths({ [name]: 'v' })).toEqual([name])
  })

  it('refuses two that differ in case only (webhooks/S22)', () => {
    expect(paths({ 'X-Key': 'a', 'x-key': 'b' })).toEqual(['x-key'])
  })

  it.each([[null], [[]], ['X-A: b'], [7]])('refuses %o, which is no object', (headers) => {
    expect(paths(headers)).toEqual([''])
  })

  it('refuses a value that is no text, even one whose toString would pass', () => {
    expect(paths({ a: 1, b: null, c: undefined, d: ['x'], e: { toString: () => 'ok' } })).toEqual([
      'a',
      'b',
      'c',
      'd',
      'e',
    ])
  })

  it('names every fault at once', () => {
    expect(paths({ Host: 'é', 'x y': '\n', fine: 'v', FINE: 'v' })).toEqual([
      'Host',
      'Host',
      '[1]',
      '[1]',
      'FINE',
    ])
  })
})
