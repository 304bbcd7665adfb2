/**
 * A shared secret that cannot be printed. What a program holds is an empty, frozen object; the key lies in a map that only
 * this folder reaches, so no log, error, `util.inspect`, JSON, spread or template can show it (DE10, DE11).
 *
 * @module
 */

import { createHmac, timingSafeEqual, createSecretKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Fault } from '../core/refusal.ts'
import { mismatch } from './verify.ts'
import type { Mismatch, Secrets } from './verify.ts'

/**
 * Lower-case hex HMAC-SHA1 of a body: of its bytes, or of the UTF-8 bytes of its text. `createHmac` with a ready key is the
 * fastest way there is in Node 20 (research/performance.md, part 3).
 */
export const digest = (key: KeyObject, body: string | Uint8Array): string =>
  createHmac('sha1', key).update(body).digest('hex')

/**
 * The position of the first key whose signature of the body is this one (40 lower-case hexadecimal digits, checked before);
 * undefined if there is none. In constant time: every key is tried, and every comparison looks at all 40 characters.
 */
export const compare = (
  keys: ReadonlyArray<KeyObject>,
  body: string | Uint8Array,
  signature: string,
): number | undefined => {
  const given = Buffer.from(signature, 'latin1')
  let found: number | undefined
  keys.forEach((key, position) => {
    const equal = timingSafeEqual(Buffer.from(digest(key, body), 'latin1'), given)
    if (equal && found === undefined) found = position
  })
  return found
}

/** Exists in types only: nothing but `secretFrom` makes a `Secret`. */
declare const OPAQUE: unique symbol

/** A shared secret. It signs and verifies, and shows nothing. */
export interface Secret {
  readonly [OPAQUE]: 'Secret'
  /** `[secret]`, as in JSON and in `util.inspect`. */
  toString(): string
}

const keys = new WeakMap<object, KeyObject>()

const hidden = (): string => '[secret]'

/** What every secret looks like, to `String`, to JSON and to `util.inspect`. */
const face: object = Object.freeze({
  toString: hidden,
  toJSON: hidden,
  [Symbol.for('nodejs.util.inspect.custom')]: hidden,
})

/** With the `u` flag, only a half that has no partner matches. */
const LONE_SURROGATE = /\p{Surrogate}/u

const faultOf = (text: string): string | undefined => {
  if (text === '') return 'must not be empty'
  if (text.trim() !== text)
    return 'must not begin or end with white space, such as the newline at the end of a file'
  if (LONE_SURROGATE.test(text)) return 'must be well-formed text: half of a surrogate pair has no UTF-8 form'
  return undefined
}

/**
 * A secret out of text, by its UTF-8 bytes as they are given: nothing is trimmed or normalised, so an `é` in one piece and an
 * `é` in two are different secrets (webhooks/S38). Refused: what is not a string, the empty string, white space at
 * either end (DE10). The fault never holds the text.
 *
 * @example
 * import { secretFrom, sign } from 'headrace/signing'
 * const secret = secretFrom('correct horse')
 * if (secret._tag === 'Right') console.log(String(secret.right), sign(secret.right, '{}').length) // => [secret] 40
 */
export const secretFrom = (text: unknown): Either<Fault, Secret> => {
  if (typeof text !== 'string') return left({ path: '', message: 'must be a string' })
  const message = faultOf(text)
  if (message !== undefined) return left({ path: '', message })
  // The brand exists in types only, so no expression has this type by itself.
  const secret = Object.freeze(Object.create(face)) as Secret
  keys.set(secret, createSecretKey(text, 'utf8'))
  return right(secret)
}

/** The key of a secret, for this folder alone; undefined for anything else, such as a copy of a secret. */
export const keyOf = (secret: unknown): KeyObject | undefined =>
  typeof secret === 'object' && secret !== null ? keys.get(secret) : undefined

/**
 * For the constructors that take text too: the secret, or a `TypeError` that says what is wrong and never what was given.
 * A wrong secret is a mistake of the program, and must never lead to unsigned sending.
 */
export const secretOrThrow = (secret: Secret | string): Secret => {
  if (typeof secret !== 'string' && keyOf(secret) !== undefined) return secret
  const made = secretFrom(secret)
  if (made._tag === 'Left') throw new TypeError(`the secret ${made.left.message}`)
  return made.right
}

const isList = (secrets: Secrets): secrets is ReadonlyArray<Secret | string> => Array.isArray(secrets)

/**
 * The keys of all secrets. One that is wrong fails them all: an unset variable among two secrets must be seen at once, not on
 * the day the other one goes.
 */
export const checkSecrets = (secrets: Secrets): Either<Mismatch, ReadonlyArray<KeyObject>> => {
  const keys: KeyObject[] = []
  for (const secret of isList(secrets) ? secrets : [secrets]) {
    const known = keyOf(secret)
    const made = known === undefined ? secretFrom(secret) : right(secret)
    if (made._tag === 'Left')
      return left(
        mismatch('badSecret', `this receiver's secret ${made.left.message}: nothing can be verified with it`),
      )
    const key = known ?? keyOf(made.right)
    if (key !== undefined) keys.push(key)
  }
  return keys.length > 0
    ? right(keys)
    : left(mismatch('badSecret', 'this receiver has no secret: nothing can be verified without one'))
}
