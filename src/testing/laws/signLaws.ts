import * as fc from 'fast-check'
import type { Either } from 'fp-ts/lib/Either.js'
import { createHash } from 'node:crypto'
import { holds, same } from './assert.ts'
import { law, lawsOver, type Law } from './law.ts'
import { odd } from './oddValues.ts'

/** What verifying answers: `true` or a Right if the body is the one that was signed. */
export type VerifyAnswer = boolean | Either<unknown, unknown>

/** A signer and its verifiers: those of headrace, or your own, for secrets that are text. */
export interface Signing {
  readonly sign: (secret: string, body: string | Uint8Array) => string
  /** Several secrets are possible while one replaces another. A Right may name the position of the one that fits, as `secret`. */
  readonly verifyRaw: (
    secrets: string | ReadonlyArray<string>,
    body: string | Uint8Array,
    signature: unknown,
  ) => VerifyAnswer
  /** Verifies what a JSON parser made of a body. */
  readonly verifyParsed?: (
    secrets: string | ReadonlyArray<string>,
    body: unknown,
    signature: unknown,
  ) => VerifyAnswer
}

const utf8 = (text: string): Buffer => Buffer.from(text, 'utf8')

/** HMAC-SHA1 as RFC 2104 writes it, so that what is tested is not its own judge. */
const hmac = (key: Uint8Array, body: Uint8Array): string => {
  const sha1 = (...parts: ReadonlyArray<Uint8Array>): Buffer =>
    createHash('sha1').update(Buffer.concat(parts)).digest()
  const block = Buffer.alloc(64)
  block.set(key.length > 64 ? sha1(key) : key)
  const padded = (byte: number): Buffer => Buffer.from(block.map((each) => each ^ byte))
  return sha1(padded(0x5c), sha1(padded(0x36), body)).toString('hex')
}

/** Secrets that are allowed, of every length that matters: one character, up to a block of SHA-1, over it. */
const secret: fc.Arbitrary<string> = fc
  .oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 100, size: 'max' }),
    fc.constantFrom('a', 'x'.repeat(63), 'x'.repeat(64), 'x'.repeat(65), 'é'.repeat(40), 'two words'),
  )
  .filter((text) => text.trim() === text)

/** Bytes as hex: any, JSON, and what is no UTF-8. */
const body: fc.Arbitrary<string> = fc.oneof(
  fc
    .uint8Array({ minLength: 1, maxLength: 200, size: 'max' })
    .map((each) => Buffer.from(each).toString('hex')),
  fc.json().map((text) => utf8(text).toString('hex')),
  fc.constantFrom('ff', 'fe41', 'c328', 'eda080'),
)

/** JSON with what changes on the way: keys that look like indexes, an own `__proto__`, lone halves, small and large numbers. */
const jsonText: fc.Arbitrary<string> = fc
  .oneof(
    fc.jsonValue({ stringUnit: 'grapheme' }),
    fc.dictionary(fc.constantFrom('2', '10', 'b', '01', '4294967295', '__proto__', ''), fc.double()),
    fc.array(fc.oneof(fc.double(), fc.constantFrom(-0, 1e21, 1e-7, '\ud800', '\u2028', '\u0000'))),
  )
  .map((value) => JSON.stringify(value))

/** What is no signature, made of one. */
const malformed: Readonly<Record<string, (good: string) => unknown>> = {
  'in upper case': (good) => good.toUpperCase().replace(/^[0-9]*$/, 'A'.repeat(40)),
  'one digit short': (good) => good.slice(0, 39),
  'one digit long': (good) => `${good}0`,
  'with a tail that is no hex': (good) => `${good}zz`,
  'with a newline': (good) => `${good}\n`,
  'after a space': (good) => ` ${good}`,
  'with the name of its algorithm': (good) => `sha1=${good}`,
  'twice in one text': (good) => `${good}, ${good}`,
  'in a list': (good) => [good],
  'as bytes': (good) => utf8(good),
  'as an object that prints it': (good) => ({ toString: () => good }),
  'no hex': () => 'z'.repeat(40),
  'a million zeros': () => '0'.repeat(1_000_000),
  'the empty text': () => '',
  undefined: () => undefined,
  null: () => null,
  'a number': () => 0,
}

const named = (table: object): fc.Arbitrary<string> => fc.constantFrom(...Object.keys(table))

/** The bytes with one bit changed. */
const flipped = (bytes: Uint8Array, at: number): Uint8Array => {
  const copy = Uint8Array.from(bytes)
  const index = (at >> 3) % copy.length
  copy[index] = (copy[index] ?? 0) ^ (1 << (at & 7))
  return copy
}

const isAccepted = (answer: VerifyAnswer): boolean =>
  answer === true || (typeof answer === 'object' && answer._tag === 'Right')

const accepts = (answer: VerifyAnswer): void => holds(isAccepted(answer), 'what was signed is refused')

const refuses = (answer: VerifyAnswer): void => holds(!isAccepted(answer), 'what was not signed is accepted')

/** Laws of one secret, one body and its signature. */
const bytesLaws = ({ sign, verifyRaw }: Signing): ReadonlyArray<Law> => {
  const input = fc.record({ secret, body, bit: fc.nat({ max: 1_600 }), digit: fc.nat({ max: 39 }) })
  const play = ({ secret: key, body: hex }: { readonly secret: string; readonly body: string }) => {
    const bytes = Buffer.from(hex, 'hex')
    return { key, bytes, signature: sign(key, bytes) }
  }
  return lawsOver('sign', input, play, {
    'is-hmac-sha1': {
      statement: 'A signature is the HMAC-SHA1 of the bytes, as 40 lower-case hexadecimal digits.',
      check: ({ key, bytes, signature }) => same(signature, hmac(utf8(key), bytes)),
    },
    'round-trip': {
      statement: 'What was signed is accepted.',
      check: ({ key, bytes, signature }) => accepts(verifyRaw(key, bytes, signature)),
    },
    'bit-of-the-body': {
      statement: 'A changed bit of the body is refused.',
      check: ({ key, bytes, signature }, { bit }) => refuses(verifyRaw(key, flipped(bytes, bit), signature)),
    },
    'bit-of-the-secret': {
      statement: 'A changed bit of the secret is refused.',
      check: ({ key, bytes }, { bit }) =>
        refuses(verifyRaw(key, bytes, hmac(flipped(utf8(key), bit), bytes))),
    },
    'digit-of-the-signature': {
      statement: 'A changed digit of the signature is refused.',
      check: ({ key, bytes, signature }, { digit, bit }) => {
        const other = (parseInt(signature.charAt(digit), 16) ^ (1 + (bit % 15))).toString(16)
        refuses(verifyRaw(key, bytes, signature.slice(0, digit) + other + signature.slice(digit + 1)))
      },
    },
  })
}

const textLaws = ({ sign, verifyRaw, verifyParsed }: Signing): ReadonlyArray<Law> => {
  const laws = lawsOver('sign', fc.record({ secret, text: jsonText }), (input) => input, {
    'text-is-utf8': {
      statement: 'Text counts as its UTF-8 bytes, signed and verified.',
      situations: ['a character of two bytes or more'],
      check: ({ secret: key, text }, _, { reach }) => {
        if (utf8(text).length > text.length) reach('a character of two bytes or more')
        same(sign(key, text), hmac(utf8(key), utf8(text)))
        accepts(verifyRaw(key, text, sign(key, utf8(text))))
      },
    },
    'bytes-as-they-came': {
      statement: 'A body that was written anew on the way is refused.',
      check: ({ secret: key, text }) => {
        refuses(verifyRaw(key, ` ${text}`, sign(key, text)))
        refuses(verifyRaw(key, text, sign(key, ` ${text}`)))
      },
    },
    'parsed-agrees': {
      statement: 'What `JSON.stringify` wrote is accepted after parsing too, and nothing else is.',
      check: ({ secret: key, text }) => {
        if (verifyParsed === undefined) return
        accepts(verifyParsed(key, JSON.parse(text), sign(key, text)))
        refuses(verifyParsed(key, { changed: JSON.parse(text) as unknown }, sign(key, text)))
      },
    },
  })
  return verifyParsed === undefined ? laws.filter(({ id }) => id !== 'sign/parsed-agrees') : laws
}

/**
 * Laws for signing and verifying as headrace does: HMAC-SHA1 over the bytes, in lower-case hexadecimal digits.
 *
 * @example
 * import { sign, verifyParsed, verifyRaw } from 'headrace/signing'
 * import { checkLaws, signLaws } from 'headrace/testing/laws'
 *
 * const reports = await checkLaws(signLaws({ sign, verifyRaw, verifyParsed }), { runs: 20, seed: 1 })
 * console.log(reports.every(({ result }) => result === 'kept')) // => true
 */
export const signLaws = (signing: Signing): ReadonlyArray<Law> => {
  const { sign, verifyRaw, verifyParsed = () => false } = signing
  return [
    ...bytesLaws(signing),
    ...textLaws(signing),
    law({
      id: 'sign/bad-secret',
      statement: 'A secret that is empty, or has white space at an end, neither signs nor verifies.',
      input: fc.record({ secret, pad: fc.constantFrom('', ' ', '\n', '\t', '\r\n', '\u00a0', '\ufeff') }),
      check: ({ secret: key, pad }) => {
        for (const bad of pad === '' ? [''] : [key + pad, pad + key, pad]) {
          let signature: string | undefined
          try {
            signature = sign(bad, 'body')
          } catch {
            signature = undefined
          }
          same(signature, undefined)
          refuses(verifyRaw(bad, 'body', hmac(utf8(bad), utf8('body'))))
          refuses(verifyRaw([key, bad], 'body', sign(key, 'body')))
        }
      },
    }),
    law({
      id: 'sign/several-secrets',
      statement: 'Any of several secrets will do, and the first that fits is named.',
      input: fc.record({
        secrets: fc.uniqueArray(secret, { minLength: 1, maxLength: 4 }),
        other: secret,
        body,
      }),
      check: ({ secrets, other, body: hex }) => {
        const bytes = Buffer.from(hex, 'hex')
        secrets.forEach((each, position) => {
          const answer: unknown = verifyRaw([...secrets, ...secrets], bytes, sign(each, bytes))
          accepts(answer as VerifyAnswer)
          const { right } = answer as { readonly right?: { readonly secret?: unknown } }
          if (typeof right?.secret === 'number') same(right.secret, position)
        })
        if (!secrets.includes(other)) refuses(verifyRaw(secrets, bytes, sign(other, bytes)))
      },
    }),
    law({
      id: 'sign/malformed-signature',
      statement: 'A malformed signature is refused, and nothing is thrown.',
      input: fc.record({ secret, how: named(malformed) }),
      check: ({ secret: key, how }) => {
        const wrong = malformed[how]?.(sign(key, '{"a":1}'))
        refuses(verifyRaw(key, '{"a":1}', wrong))
        refuses(verifyParsed(key, { a: 1 }, wrong))
      },
    }),
    law({
      id: 'sign/answers-anything',
      statement: 'Verifying refuses what code without types may give, and throws nothing.',
      input: fc.record({ secrets: named(odd), body: named(odd), signature: named(odd) }),
      check: (names) => {
        const [secrets, wrong, signature] = [names.secrets, names.body, names.signature].map((name) =>
          odd[name]?.(),
        )
        // What code without types may give.
        refuses(verifyRaw(secrets as string, wrong as string, signature))
        refuses(verifyParsed(secrets as string, wrong, signature))
      },
    }),
  ]
}
