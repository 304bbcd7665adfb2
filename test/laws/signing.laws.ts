/** The laws of signing and verifying: pipelines S1 to S7, and webhooks/S35 to S38. */
import { describe, it } from 'vitest'
import { sign } from '../../src/signing/secret.ts'
import { verifyParsed, verifyRaw } from '../../src/signing/verify.ts'
import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Mismatch, Secrets, Verified } from '../../src/signing/verify.ts'
import { holds, law, type PlainLaw, same } from '../support/check.ts'
import { character } from '../arbitraries/character.ts'

export interface Signing {
  readonly sign: (secret: string, body: string | Uint8Array) => string
  readonly verifyRaw: (
    secrets: Secrets,
    body: string | Uint8Array,
    signature: unknown,
  ) => Either<Mismatch, Verified>
  readonly verifyParsed: (secrets: Secrets, body: unknown, signature: unknown) => Either<Mismatch, Verified>
}

/** HMAC-SHA1 as RFC 2104 writes it, so that what is tested is not its own judge. */
export const hmac = (key: Uint8Array, body: Uint8Array): string => {
  const sha1 = (...parts: ReadonlyArray<Uint8Array>): Buffer =>
    createHash('sha1').update(Buffer.concat(parts)).digest()
  const block = Buffer.alloc(64)
  block.set(key.length > 64 ? sha1(key) : key)
  const padded = (byte: number): Buffer => Buffer.from(block.map((each) => each ^ byte))
  return sha1(padded(0x5c), sha1(padded(0x36), body)).toString('hex')
}

const utf8 = (text: string): Buffer => Buffer.from(text, 'utf8')

/** Secrets that are allowed, of every length that matters: up to a block, over it, one letter. */
export const secretText: fc.Arbitrary<string> = fc
  .oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 100, size: 'max' }),
    fc.constantFrom('a', 'x'.repeat(63), 'x'.repeat(64), 'x'.repeat(65), 'é'.repeat(40), 'two words'),
  )
  .filter((text) => text.trim() === text && text !== '')

const bytes: fc.Arbitrary<Uint8Array> = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 200, size: 'max' }),
  fc.json().map(utf8),
  // Bytes that are no UTF-8.
  fc
    .constantFrom([0xff], [0xfe, 0x41], [0xc3, 0x28], [0xed, 0xa0, 0x80])
    .map((each) => Uint8Array.from(each)),
)

const flipped = (body: Uint8Array, at: number): Uint8Array => {
  const copy = Uint8Array.from(body)
  const index = (at >> 3) % copy.length
  copy[index] = (copy[index] ?? 0) ^ (1 << (at & 7))
  return copy
}

/** JSON values with what drifts on the way: keys that look like indexes, own `__proto__`, lone halves, small numbers. */
export const jsonText: fc.Arbitrary<string> = fc
  .oneof(
    fc.jsonValue({ stringUnit: character }),
    fc.dictionary(
      fc.constantFrom('2', '10', 'b', '01', '4294967295', '4294967294', '__proto__', ''),
      fc.double(),
    ),
    fc.array(fc.oneof(fc.double(), fc.constantFrom(-0, 1e21, 1e-7, NaN, '\ud800', '\u2028', '\u0000')), {
      maxLength: 9,
    }),
  )
  .map((value) => JSON.stringify(value))

const badSignature: fc.Arbitrary<(good: string) => unknown> = fc.constantFrom<
  Array<(good: string) => unknown>
>(
  (good) => good.toUpperCase().replace(/^[0-9]*$/, 'A'.repeat(40)),
  (good) => good.slice(0, 39),
  (good) => good.slice(0, 8),
  (good) => `${good}0`,
  (good) => `${good}zz`,
  (good) => `${good}\n`,
  (good) => ` ${good}`,
  (good) => `sha1=${good}`,
  (good) => `${good}, ${good}`,
  (good) => [good],
  (good) => [good, good],
  (good) => utf8(good),
  (good) => utf8(good.slice(0, 20)),
  (good) => ({ toString: () => good }),
  () => 'z'.repeat(40),
  () => '',
  () => '0'.repeat(1_000_000),
  () => undefined,
  () => null,
  () => 0,
)

const outside = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withTypedArray: true,
  withNullPrototype: true,
})

const isAnswer = (answer: Either<Mismatch, Verified>): boolean =>
  answer._tag === 'Left'
    ? answer.left.explanation.length > 0 && answer.left.reason.length > 0
    : answer.right.secret >= 0

export const signingLaws = ({ sign, verifyRaw, verifyParsed }: Signing): ReadonlyArray<PlainLaw> => [
  law(
    'S1 a signature is the HMAC-SHA1 of the bytes, text counting as UTF-8',
    fc.property(secretText, bytes, fc.string({ unit: character }), (secret, body, text) => {
      same(sign(secret, body), hmac(utf8(secret), body))
      same(sign(secret, text), hmac(utf8(secret), utf8(text)))
    }),
  ),
  law(
    'S2 what was signed verifies',
    fc.property(secretText, bytes, jsonText, (secret, body, text) => {
      same(verifyRaw(secret, body, sign(secret, body))._tag, 'Right')
      same(verifyRaw(secret, text, sign(secret, text))._tag, 'Right')
    }),
  ),
  law(
    'S2 a flipped bit of the body fails',
    fc.property(secretText, bytes, fc.nat(), (secret, body, at) =>
      same(verifyRaw(secret, flipped(body, at), sign(secret, body))._tag, 'Left'),
    ),
  ),
  law(
    'S2 a flipped bit of the secret fails',
    fc.property(secretText, secretText, bytes, fc.nat(), (secret, other, body, at) => {
      const near = flipped(utf8(secret), at)
      same(verifyRaw(secret, body, hmac(near, body))._tag, 'Left')
      if (other !== secret) same(verifyRaw(other, body, sign(secret, body))._tag, 'Left')
    }),
  ),
  law(
    'S2 a changed digit of the signature fails',
    fc.property(secretText, bytes, fc.nat(39), fc.integer({ min: 1, max: 15 }), (secret, body, at, by) => {
      const good = sign(secret, body)
      const digit = (parseInt(good.charAt(at), 16) ^ by).toString(16)
      same(verifyRaw(secret, body, good.slice(0, at) + digit + good.slice(at + 1))._tag, 'Left')
    }),
  ),
  law(
    'S3 a signature is 40 lower-case hexadecimal digits',
    fc.property(secretText, bytes, (secret, body) =>
      holds(/^[0-9a-f]{40}$/.test(sign(secret, body)), 'it is not'),
    ),
  ),
  law(
    'S4 an empty or padded secret neither signs nor verifies',
    fc.property(
      secretText,
      fc.constantFrom('', ' ', '\n', '\t', '\r\n', '\u00a0', '\ufeff'),
      bytes,
      (secret, pad, body) => {
        for (const bad of pad === '' ? [''] : [secret + pad, pad + secret, pad]) {
          let signed = true
          try {
            sign(bad, body)
          } catch {
            signed = false
          }
          holds(!signed, 'it signed')
          const answer = verifyRaw(bad, body, hmac(utf8(bad), body))
          same(answer._tag === 'Left' && answer.left.reason, 'badSecret')
          same(verifyRaw([secret, bad], body, sign(secret, body))._tag, 'Left')
        }
      },
    ),
  ),
  law(
    'S5 both ways of verifying agree on whatever JSON.stringify wrote',
    fc.property(secretText, jsonText, (secret, text) => {
      const signature = sign(secret, text)
      same(verifyRaw(secret, utf8(text), signature)._tag, 'Right')
      same(verifyParsed(secret, JSON.parse(text), signature)._tag, 'Right')
      same(verifyParsed(secret, { changed: JSON.parse(text) as unknown }, signature)._tag, 'Left')
    }),
  ),
  law(
    'S5 only the bytes as they came are raw',
    fc.property(secretText, jsonText, (secret, text) => {
      same(verifyRaw(secret, ` ${text}`, sign(secret, text))._tag, 'Left')
      same(verifyRaw(secret, text, sign(secret, ` ${text}`))._tag, 'Left')
    }),
  ),
  law(
    'S7 a malformed signature fails and throws nothing',
    fc.property(secretText, bytes, badSignature, (secret, body, bad) => {
      const wrong = bad(sign(secret, body))
      same(verifyRaw(secret, body, wrong)._tag, 'Left')
      const text = '{"a":1}'
      same(verifyParsed(secret, { a: 1 }, bad(sign(secret, text)))._tag, 'Left')
    }),
  ),
  law(
    'S7 verifying answers to anything',
    fc.property(secretText, outside, outside, outside, (secret, body, signature, secrets) => {
      // What a program without types may pass.
      const wild = secrets as Secrets
      for (const each of [secret, wild]) {
        holds(isAnswer(verifyRaw(each, body as string, signature)), 'no answer')
        holds(isAnswer(verifyRaw(each, body as string, 'a'.repeat(40))), 'no answer')
        holds(isAnswer(verifyParsed(each, body, signature)), 'no answer')
        holds(isAnswer(verifyParsed(each, body, 'a'.repeat(40))), 'no answer')
      }
    }),
  ),
  law(
    'S8 any of several secrets will do, and the first that fits is named',
    fc.property(
      fc.uniqueArray(secretText, { minLength: 1, maxLength: 4 }),
      secretText,
      bytes,
      (secrets, other, body) => {
        secrets.forEach((secret, position) => {
          const answer = verifyRaw(secrets, body, sign(secret, body))
          same(answer._tag === 'Right' && answer.right.secret, position)
        })
        if (!secrets.includes(other)) same(verifyRaw(secrets, body, sign(other, body))._tag, 'Left')
        const twice = verifyRaw([...secrets, ...secrets], body, sign(secrets[0] ?? '', body))
        same(twice._tag === 'Right' && twice.right.secret, 0)
      },
    ),
  ),
]

describe('signing', () =>
  it.each(signingLaws({ sign, verifyRaw, verifyParsed }))('keeps $id', ({ check }) => check()))
