/**
 * A shared secret that cannot be printed. A program holds an empty, frozen object; the key lies in a map that only this module reaches, so no
 * log, error, `util.inspect`, JSON, spread or template can show it.
 *
 * @module
 */

import { createHmac, createSecretKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Fault } from '../core/refusal.ts'

/** Lower-case hex HMAC-SHA1 of a body: of its bytes, or of the UTF-8 bytes of its text. */
export const digest = (key: KeyObject, body: string | Uint8Array): string =>
  createHmac('sha1', key).update(body).digest('hex')

/** Exists in types only: only `secretFrom` makes a `Secret`. */
declare const OPAQUE: unique symbol

/** A shared secret. It signs and verifies, and shows nothing. */
export interface Secret {
  readonly [OPAQUE]: 'Secret'
  /** `[secret]`, as in JSON and in `util.inspect`. */
  toString(): string
}

const keys = new WeakMap<object, KeyObject>()

const hidden = (): string => '[secret]'

/** How every secret prints. */
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
 * A secret out of text, by its UTF-8 bytes: nothing is trimmed or normalised. Refused are what is not a string, the empty string, and white
 * space at either end. The fault never holds the text.
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

/** The key of a secret, for this module alone; undefined for anything else, such as a copy of a secret. */
export const keyOf = (secret: unknown): KeyObject | undefined =>
  typeof secret === 'object' && secret !== null ? keys.get(secret) : undefined

/** The secret of a text. Throws a `TypeError` that says what is wrong and never what was given. */
export const secretOrThrow = (secret: Secret | string): Secret => {
  if (typeof secret !== 'string' && keyOf(secret) !== undefined) return secret
  const made = secretFrom(secret)
  if (made._tag === 'Left') throw new TypeError(`the secret ${made.left.message}`)
  return made.right
}
