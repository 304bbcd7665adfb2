import * as fc from 'fast-check'
import { tryCatch } from 'fp-ts/lib/Either.js'
import { createHmac } from 'node:crypto'
import { isLeft, type Either } from '../../core/either.ts'
import { isRecord } from '../../core/json.ts'
import { holds, same, lawsOver, type Drawn, type Law } from './law.ts'
import { odd } from './oddValues.ts'
import { sizedAround, textOfSize } from './texts.ts'

/** The answer of verifying: `true` or a Right if the body is the signed one. @inline */
export type VerifyAnswer = boolean | Either<unknown, unknown>

/** One secret or several. @inline */
type TextSecrets = string | ReadonlyArray<string>

/** A signer and its verifiers: those of headrace, or your own, for secrets that are text. */
export interface Signing {
  /** The signature of a body, as a request has it. */
  readonly sign: (secret: string, body: string | Uint8Array) => string
  /**
   * Several secrets are possible while one replaces another. A Right may name the position of the one that
   * fits, as `secret`.
   */
  readonly verifyRaw: (secrets: TextSecrets, body: string | Uint8Array, signature: unknown) => VerifyAnswer
  /** Verifies the parsed form of a body. */
  readonly verifyParsed?: (secrets: TextSecrets, body: unknown, signature: unknown) => VerifyAnswer
}

const utf8Bytes = (text: string): Buffer => Buffer.from(text, 'utf8')

export const hmac = (key: string | Uint8Array, body: string | Uint8Array): string =>
  createHmac('sha1', key).update(body).digest('hex')

/** Secrets that are allowed: of one character, up to a block of SHA-1, and over it. */
const secretText: fc.Arbitrary<string> = fc
  .oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 100, size: 'max' }),
    fc.constantFrom('a', 'x'.repeat(63), 'x'.repeat(64), 'x'.repeat(65), 'é'.repeat(40), 'two words'),
    fc.constantFrom('0123456789abcdef'.repeat(2), '0'.repeat(40), 'c2VjcmV0', 'whsec_c2VjcmV0'),
  )
  .filter((text) => text.trim() === text)

/** Bytes as hex: any, also no UTF-8. */
const body: fc.Arbitrary<string> = fc
  .oneof(fc.uint8Array({ minLength: 1, maxLength: 200, size: 'max' }), fc.constant(Uint8Array.of(0xc3, 0x28)))
  .map((each) => Buffer.from(each).toString('hex'))

/** Lengths around common limits, of characters of one to four bytes, with changes of editors or proxies. */
const long = fc.record({
  size: fc.oneof(
    ...[16_384, 65_536, 512_000].flatMap((limit) =>
      (['ascii', 'accent', 'han', 'emoji'] as const).map((alphabet) => sizedAround(limit, { alphabet })),
    ),
  ),
  start: fc.constantFrom('', '\ufeff', '\r\n'),
  end: fc.constantFrom('', '\r\n', '\n', ' '),
})

/** JSON that careless code changes: keys like indexes, `__proto__`, lone halves, small and large numbers. */
const jsonText: fc.Arbitrary<string> = fc
  .oneof(
    fc.jsonValue({ stringUnit: 'grapheme' }),
    fc.dictionary(fc.constantFrom('2', '10', 'b', '01', '4294967295', '__proto__', ''), fc.double()),
    fc.array(fc.constantFrom(-0, 1e21, 1e-7, '\ud800', '\u2028', '\u0000')),
  )
  .map((value) => JSON.stringify(value))

/** Values that are no signature, made of one. */
const malformed: Readonly<Record<string, (good: string) => unknown>> = {
  'in upper case': (good) => good.toUpperCase().replace(/^[0-9]*$/, 'A'.repeat(40)),
  'with a line break': (good) => `${good}\n`,
  'after a space': (good) => ` ${good}`,
  'without its first digit': (good) => good.slice(1),
  'without its last digit': (good) => good.slice(0, -1),
  'with a tail that is no hex': (good) => `${good}zz`,
  'with the name of its algorithm': (good) => `sha1=${good}`,
  'in a list': (good) => [good],
  'as an object that prints it': (good) => ({ toString: () => good }),
  ...odd,
}

const namesOf = (table: object): fc.Arbitrary<string> => fc.constantFrom(...Object.keys(table))

const flipped = (bytes: Uint8Array, bit: number): Uint8Array =>
  Uint8Array.from(bytes, (each, n) => (n === (bit >> 3) % bytes.length ? each ^ (1 << (bit & 7)) : each))

const isAccepted = (answer: VerifyAnswer): boolean =>
  answer === true || (typeof answer === 'object' && answer._tag === 'Right')

const accepts = (answer: VerifyAnswer): void => holds(isAccepted(answer), 'what was signed is refused')

const refuses = (said: VerifyAnswer = false) => holds(!isAccepted(said), 'what was not signed is accepted')

const signInput = fc.record({
  key: secretText,
  others: fc.uniqueArray(secretText, { maxLength: 3 }),
  body,
  text: jsonText,
  long,
  bit: fc.nat({ max: 1_600 }),
  pad: fc.constantFrom(' ', '\n', '\t', '\r\n', '\u00a0', '\ufeff'),
  how: namesOf(malformed),
  odds: fc.tuple(namesOf(odd), namesOf(odd), namesOf(odd)),
})

const played = ({ long: { size, start, end }, ...each }: Drawn<typeof signInput>) => {
  return { ...each, bytes: Buffer.from(each.body, 'hex'), long: start + textOfSize(size) + end }
}

/**
 * Laws for signing and verifying as headrace does: HMAC-SHA1 over the bytes, in lower-case hex.
 *
 * @example
 * import { signatureOf, verifyParsed, verifyRaw } from 'headrace/signing'
 * import { checkLaws, signLaws } from 'headrace/testing/laws'
 *
 * await checkLaws(signLaws({ sign: signatureOf, verifyRaw, verifyParsed }), { runs: 20, seed: 1 })
 */
export const signLaws = ({ sign, verifyRaw, verifyParsed }: Signing): ReadonlyArray<Law> =>
  lawsOver('sign', signInput, played, {
    'is-hmac-sha1': {
      statement: 'A signature is the HMAC-SHA1 of all bytes as 40 lower-case hex digits; text is UTF-8.',
      situations: ['a character of two bytes or more', 'a text of more than 64 KB'],
      check: ({ key, bytes, text, long }, _, { reach }) => {
        if (utf8Bytes(text).length > text.length) reach('a character of two bytes or more')
        if (long.length > 65_536) reach('a text of more than 64 KB')
        for (const each of [bytes, text, long, utf8Bytes(long)]) same(sign(key, each), hmac(key, each))
      },
    },
    'round-trip': {
      statement: 'A signed body is accepted, also parsed, with any of the secrets; the first match is named.',
      situations: ['another secret fits'],
      check: ({ key, others, bytes, text, long }, _, { reach }) => {
        accepts(verifyRaw(key, text, sign(key, utf8Bytes(text))))
        accepts(verifyRaw(key, utf8Bytes(long), hmac(key, long)))
        accepts(verifyParsed?.(key, JSON.parse(text), sign(key, text)) ?? true)
        const secrets = [...others.filter((each) => each !== key), key, key]
        if (secrets.length > 2) reach('another secret fits')
        const answer = verifyRaw(secrets, bytes, sign(key, bytes))
        accepts(answer)
        const found = typeof answer === 'object' && answer._tag === 'Right' ? answer.right : undefined
        if (isRecord(found) && 'secret' in found) same(found['secret'], secrets.length - 2)
      },
    },
    'each-bit-counts': {
      statement: 'A changed bit of body, secret or signature, and a body that was written anew, are refused.',
      check: ({ key, others, bytes, text, long, bit }) => {
        const signature = sign(key, bytes)
        refuses(verifyRaw(key, flipped(bytes, bit), signature))
        refuses(verifyRaw(key, bytes, hmac(flipped(utf8Bytes(key), bit), bytes)))
        const digit = bit % 40
        const other = (parseInt(signature.charAt(digit), 16) ^ (1 + (bit % 15))).toString(16)
        refuses(verifyRaw(key, bytes, signature.slice(0, digit) + other + signature.slice(digit + 1)))
        if (!others.includes(key)) refuses(verifyRaw(others, bytes, signature))
        refuses(verifyRaw(key, `${long}.`, hmac(key, long)))
        refuses(verifyRaw(key, ` ${text}`, sign(key, text)))
        refuses(verifyRaw(key, text, sign(key, ` ${text}`)))
        refuses(verifyParsed?.(key, { changed: JSON.parse(text) as unknown }, sign(key, text)))
      },
    },
    'bad-secret': {
      statement: 'A secret that is missing, empty, or has white space at an end neither signs nor verifies.',
      check: ({ key, pad }) => {
        for (const bad of ['', pad, key + pad, pad + key]) {
          holds(isLeft(tryCatch(() => sign(bad, 'body'), String)), 'a bad secret signs')
          refuses(verifyRaw(bad, 'body', hmac(bad, 'body')))
          refuses(verifyRaw([key, bad], 'body', hmac(key, 'body')))
        }
        refuses(verifyRaw([], 'body', hmac(key, 'body')))
      },
    },
    'malformed-signature': {
      statement: 'A malformed signature, and what untyped code may give, is refused, and nothing is thrown.',
      check: ({ key, how, odds }) => {
        for (const each of [malformed[how]?.(sign(key, '{"a":1}')), '']) {
          refuses(verifyRaw(key, '{"a":1}', each))
          refuses(verifyParsed?.(key, { a: 1 }, each))
        }
        const [secrets, other, signature] = odds.map((name) => odd[name]?.())
        // Code without types may give these values.
        refuses(verifyRaw(secrets as string, other as string, signature))
        refuses(verifyParsed?.(secrets as string, other, signature))
      },
    },
  })
