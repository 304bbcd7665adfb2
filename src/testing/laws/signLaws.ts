import * as fc from 'fast-check'
import { isLeft, tryCatch, type Either } from 'fp-ts/lib/Either.js'
import { createHmac } from 'node:crypto'
import { holds, same } from './assert.ts'
import { law, lawsOver, type Law } from './law.ts'
import { odd } from './oddValues.ts'

/** What verifying answers: `true` or a Right if the body is the one that was signed. */
export type VerifyAnswer = boolean | Either<unknown, unknown>

/** A signer and its verifiers: those of headrace, or your own, for secrets that are text. */
export interface Signing {
  /** The signature of a body, as a request has it. */
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

export const hmac = (key: string | Uint8Array, body: string | Uint8Array): string =>
  createHmac('sha1', key).update(body).digest('hex')

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
  'a million zeros': () => '0'.repeat(1_000_000),
  'the empty text': () => '',
  ...odd,
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

const input = fc.record({
  secret,
  others: fc.uniqueArray(secret, { maxLength: 3 }),
  /** As hex. */
  body,
  text: jsonText,
  bit: fc.nat({ max: 1_600 }),
})

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
export const signLaws = ({ sign, verifyRaw, verifyParsed }: Signing): ReadonlyArray<Law> => [
  ...lawsOver('sign', input, (each) => ({ ...each, bytes: Buffer.from(each.body, 'hex') }), {
    'is-hmac-sha1': {
      statement:
        'A signature is the HMAC-SHA1 of the bytes, as 40 lower-case hexadecimal digits; text is UTF-8.',
      situations: ['a character of two bytes or more'],
      check: ({ secret: key, bytes, text }, _, { reach }) => {
        if (utf8(text).length > text.length) reach('a character of two bytes or more')
        same([sign(key, bytes), sign(key, text)], [hmac(key, bytes), hmac(key, text)])
      },
    },
    'round-trip': {
      statement:
        'What was signed is accepted, with any of several secrets, and the first that fits is named.',
      situations: ['another secret fits'],
      check: ({ secret: key, others, bytes, text }, _, { reach }) => {
        accepts(verifyRaw(key, text, sign(key, utf8(text))))
        const secrets = [...others.filter((each) => each !== key), key, key]
        if (secrets.length > 2) reach('another secret fits')
        const answer: unknown = verifyRaw(secrets, bytes, sign(key, bytes))
        // A Right may hold anything.
        accepts(answer as VerifyAnswer)
        const { right } = answer as { readonly right?: { readonly secret?: unknown } }
        if (typeof right?.secret === 'number') same(right.secret, secrets.length - 2)
      },
    },
    'each-bit-counts': {
      statement:
        'A changed bit of the body or the secret, and a changed digit of the signature, are refused.',
      check: ({ secret: key, others, bytes, bit }) => {
        const signature = sign(key, bytes)
        refuses(verifyRaw(key, flipped(bytes, bit), signature))
        refuses(verifyRaw(key, bytes, hmac(flipped(utf8(key), bit), bytes)))
        const digit = bit % 40
        const other = (parseInt(signature.charAt(digit), 16) ^ (1 + (bit % 15))).toString(16)
        refuses(verifyRaw(key, bytes, signature.slice(0, digit) + other + signature.slice(digit + 1)))
        if (!others.includes(key)) refuses(verifyRaw(others, bytes, signature))
      },
    },
    'bytes-as-they-came': {
      statement: 'A body that was written anew on the way is refused.',
      check: ({ secret: key, text }) => {
        refuses(verifyRaw(key, ` ${text}`, sign(key, text)))
        refuses(verifyRaw(key, text, sign(key, ` ${text}`)))
      },
    },
  }),
  law({
    id: 'sign/bad-secret',
    statement: 'A secret that is empty, or has white space at an end, neither signs nor verifies.',
    input: fc.record({ secret, pad: fc.constantFrom('', ' ', '\n', '\t', '\r\n', '\u00a0', '\ufeff') }),
    check: ({ secret: key, pad }) => {
      for (const bad of pad === '' ? [''] : [key + pad, pad + key, pad]) {
        const signature = tryCatch(() => sign(bad, 'body'), String)
        holds(isLeft(signature), 'a bad secret signs')
        refuses(verifyRaw(bad, 'body', hmac(bad, 'body')))
        refuses(verifyRaw([key, bad], 'body', sign(key, 'body')))
      }
    },
  }),
  law({
    id: 'sign/malformed-signature',
    statement: 'A malformed signature is refused, and nothing is thrown.',
    input: fc.record({ secret, how: named(malformed) }),
    check: ({ secret: key, how }) => {
      const wrong = malformed[how]?.(sign(key, '{"a":1}'))
      refuses(verifyRaw(key, '{"a":1}', wrong))
      refuses(verifyParsed?.(key, { a: 1 }, wrong) ?? false)
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
      refuses(verifyParsed?.(secrets as string, wrong, signature) ?? false)
    },
  }),
  ...(verifyParsed === undefined
    ? []
    : [
        law({
          id: 'sign/parsed-agrees',
          statement: 'What `JSON.stringify` wrote is accepted after parsing too, and nothing else is.',
          input: fc.record({ secret, text: jsonText }),
          check: ({ secret: key, text }) => {
            accepts(verifyParsed(key, JSON.parse(text), sign(key, text)))
            refuses(verifyParsed(key, { changed: JSON.parse(text) as unknown }, sign(key, text)))
          },
        }),
      ]),
]
