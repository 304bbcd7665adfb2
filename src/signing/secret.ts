/**
 * A shared secret that cannot be printed. A program holds an empty, frozen object; the key lies in a map that only this room reaches, so no
 * log, error, `util.inspect`, JSON, spread or template can show it.
 *
 * @module
 */

import { createHmac, createSecretKey, hash } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Fault } from '../core/refusal.ts'

/** Bytes that SHA-1 takes at a time, and bytes that it gives. */
const BLOCK = 64
const DIGEST = 20
/** Longer bodies are rare, and the two ways cost the same. */
const MAX_FAST = 65_536

/** The key in the two forms in which HMAC uses it (RFC 2104). */
interface Pads {
  readonly inner: Uint8Array
  /** With room for the inner digest behind it. */
  readonly outer: Buffer
}

const padsByKey = new WeakMap<KeyObject, Pads>()

const padsOf = (key: KeyObject): Pads => {
  const known = padsByKey.get(key)
  if (known !== undefined) return known
  const given = key.export()
  const bytes = given.length > BLOCK ? hash('sha1', given, 'buffer') : given
  const inner = Buffer.alloc(BLOCK, 0x36)
  const outer = Buffer.alloc(BLOCK + DIGEST, 0x5c)
  bytes.forEach((byte, at) => {
    inner[at] = byte ^ 0x36
    outer[at] = byte ^ 0x5c
  })
  const pads = { inner, outer }
  padsByKey.set(key, pads)
  return pads
}

/** One buffer for all: it is filled and read without a pause. */
const scratch = Buffer.allocUnsafeSlow(BLOCK + MAX_FAST)

/** Copies a body behind the place of the pad. Answers its bytes; undefined if it may be too long. */
const place = (body: string | Uint8Array): number | undefined => {
  if (typeof body === 'string') return 3 * body.length > MAX_FAST ? undefined : scratch.write(body, BLOCK)
  if (body.byteLength > MAX_FAST) return undefined
  scratch.set(new Uint8Array(body.buffer, body.byteOffset, body.byteLength), BLOCK)
  return body.byteLength
}

/**
 * Lower-case hex HMAC-SHA1 of a body: of its bytes, or of the UTF-8 bytes of its text. Two plain digests, because `createHmac` takes 1.4 µs
 * before it has seen a byte (Node 20, 205 bytes: 1.8 µs with it, 1.1 µs so).
 */
export const digest = (key: KeyObject, body: string | Uint8Array): string => {
  const size = place(body)
  if (size === undefined) return createHmac('sha1', key).update(body).digest('hex')
  const { inner, outer } = padsOf(key)
  scratch.set(inner, 0)
  outer.write(hash('sha1', scratch.subarray(0, BLOCK + size), 'binary'), BLOCK, 'latin1')
  return hash('sha1', outer, 'hex')
}

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

/** The key of a secret, for this room alone; undefined for anything else, such as a copy of a secret. */
export const keyOf = (secret: unknown): KeyObject | undefined =>
  typeof secret === 'object' && secret !== null ? keys.get(secret) : undefined

/** The secret of a text. Throws a `TypeError` that says what is wrong and never what was given. */
export const secretOrThrow = (secret: Secret | string): Secret => {
  if (typeof secret !== 'string' && keyOf(secret) !== undefined) return secret
  const made = secretFrom(secret)
  if (made._tag === 'Left') throw new TypeError(`the secret ${made.left.message}`)
  return made.right
}
