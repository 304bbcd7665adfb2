import { createHmac } from 'node:crypto'
import * as fc from 'fast-check'
import { getOrElse, left } from 'fp-ts/lib/Either.js'
import { format, inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { secretFrom, signatureOf, signerOf, verifyRaw, type Secret } from '../../src/signing/index.ts'
import { signerSource } from '../../src/signing/secret.ts'
import { payloadOf } from '../sink/deliverOnce.ts'
import { thrown } from '../support/faults.ts'
import { forAll } from '../support/check.ts'

const secretOf = (text: string) => getOrElse<unknown, Secret>(() => expect.unreachable())(secretFrom(text))

/** Text that is found nowhere by chance, and that no printer escapes. */
const secretText = fc
  .string({ unit: fc.constantFrom('a', 'B', '7', '-'), maxLength: 20 })
  .map((middle) => `Zq7${middle}Wk3`)

const DEEP = { depth: null, showHidden: true }
const printed = (value: unknown): string =>
  [
    inspect(value, { depth: null, showHidden: true, showProxy: true, getters: true }),
    inspect([value, { value }, new Map([[value, value]]), new Error('e', { cause: value })], DEEP),
    format('%s %o %O %j %d', value, value, value, value, value),
    JSON.stringify([value, { value }]),
    String(value),
    Object.entries(value as object).join(),
    Reflect.ownKeys(value as object).join(),
    inspect({ ...(value as object) }, { showHidden: true }),
    inspect(Object.getOwnPropertyDescriptors(value), DEEP),
  ].join('\n')

describe('a secret', () => {
  it('is in nothing that can be printed', () =>
    forAll(secretText, (secret) => {
      const known = secretOf(secret)
      const seen = [
        printed(known),
        printed(signerOf(known)),
        printed({ ...payloadOf('{}'), signature: signatureOf(known, '{}') }),
        inspect(secretFrom(secret), { depth: null, showHidden: true }),
        inspect(verifyRaw(known, '{}', signatureOf('other', '{}')), { depth: null, showHidden: true }),
      ].join('\n')
      expect(seen).not.toContain(secret)
      expect(seen).not.toContain(Buffer.from(secret).toString('hex'))
      expect(seen).not.toContain(Buffer.from(secret).toString('base64'))
    }))

  it('would be seen if it were there', () => expect(printed({ leak: 'Zq7Wk3' })).toContain('Zq7Wk3'))

  it('is in no error about a wrong one', () =>
    forAll(secretText, fc.constantFrom(' ', '\n', '\ud800 '), (secret, pad) => {
      const bad = secret + pad
      const errors = [
        secretFrom(bad),
        thrown(() => signatureOf(bad, '{}')),
        thrown(() => signerOf(bad)),
        verifyRaw(bad, '{}', 'a'.repeat(40)),
      ]
      for (const one of errors) expect(inspect(one, { depth: null, showHidden: true })).not.toContain(secret)
    }))

  it('shows itself as [secret]', () => {
    const secret = secretOf('correct horse')
    expect([String(secret), JSON.stringify({ secret })]).toEqual(['[secret]', '{"secret":"[secret]"}'])
    expect([inspect({ secret }), Object.keys(secret)]).toEqual(['{ secret: [secret] }', []])
    expect(Object.isFrozen(secret)).toBe(true)
  })

  it('cannot be copied: a copy is no secret', () => {
    const secret = secretOf('correct horse')
    const copy = { ...secret }
    expect(() => signerOf(copy)).toThrow(TypeError)
    expect(verifyRaw(copy, '{}', signatureOf(secret, '{}'))).toMatchObject({ left: { reason: 'badSecret' } })
    expect(verifyRaw(structuredClone({}) as Secret, '{}', signatureOf(secret, '{}'))._tag).toBe('Left')
  })

  it.each<readonly [unknown, RegExp | string]>([
    ['', 'must not be empty'],
    ...[' x', 'x ', 'x\n', 'x\r\n', '\ufeffx'].map((text) => [text, /white space/] as const),
    [JSON.parse(JSON.stringify(secretOf('x'))), 'is what JSON shows of a secret: give the secret itself'],
    ['x\ud800', /surrogate/],
    ['x\0', /control/],
    ['H13\u009bx', /control/],
    ...[undefined, null, 42, ['x'], Buffer.from('x')].map((other) => [other, 'must be a string'] as const),
  ])('is refused: %j', (input, message) =>
    expect(secretFrom(input)).toEqual(left({ path: '', message: expect.stringMatching(message) as string })),
  )

  it('is its bytes: two ways to write an accent are two secrets', () =>
    expect(signatureOf('caf\u00e9', '{}')).not.toBe(signatureOf('cafe\u0301', '{}')))
})

it('signerOf gives one secret one signer, so that work can be shared by identity', () => {
  const secret = secretOf('a')
  expect(signerOf(secret)).toBe(signerOf(secret))
  expect(signerOf(secretOf('a'))).not.toBe(signerOf(secret))
  expect(signerOf('a')('{}')).toBe(signatureOf(secret, '{}'))
  const later = (): never => Promise.reject(new Error('planted')) as never
  expect(signerSource(later)).toThrow('the function of a secret answers a promise: it must answer at once')
  expect(signerSource(() => expect.fail('hunter2'))).toThrow(/^the function of a secret throws an error$/)
})

describe('sign', () => {
  it('gives the digest of RFC 2202', () => {
    const digest = 'effcdf6ae5eb2fa2d27416d5f184df9c259a7c79'
    expect(signatureOf('Jefe', 'what do ya want for nothing?')).toBe(digest)
    expect(() => signatureOf('', '{}')).toThrow('signatureOf: the secret must not be empty')
    expect(() => signatureOf('s', new ArrayBuffer(2) as never)).toThrow('must be text or a Uint8Array')
  })

  it.each([0, 1, 63, 64, 65, 16_384, 21_824, 21_825, 32_737, 65_472, 65_473, 65_536, 512_000])(
    'gives what createHmac gives for %i bytes, of one to four in a character',
    (size) => {
      for (const character of ['x', 'é', '世', '😀']) {
        const width = Buffer.byteLength(character)
        const text = '\ufeff'.slice(0, size % 2) + character.repeat(size / width) + 'x'.repeat(size % width)
        for (const body of [text, `${text}\r\n`, Buffer.from(text)])
          expect(signatureOf('k', body)).toBe(createHmac('sha1', 'k').update(body).digest('hex'))
      }
    },
  )
})
