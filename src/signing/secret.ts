/**
 * A shared secret that cannot be printed. A program holds an empty, frozen object; the key lies in a map that
 * only this module reaches, so no log, error, `util.inspect`, JSON, spread or template can show it.
 */
import { ignoreRejection, isPromiseLike } from '../core/awaitable.ts'
import { nodeCrypto } from '../core/package.ts'
import { left, right, type Either } from '../core/either.ts'
import { UnfitAnswer, type Fault } from '../core/refusal.ts'
import type { Signer } from '../event/payload.ts'

/** Exists in types only: only `secretFrom` makes a `Secret`. */
declare const OPAQUE: unique symbol

/** A shared secret. It signs and verifies, and shows nothing. */
export interface Secret {
  readonly [OPAQUE]: 'Secret'
  /** `[secret]`, as in JSON and in `util.inspect`. */
  toString(): string
}

const signers = new WeakMap<object, Signer>()

/** Bytes that SHA-1 takes at a time, and bytes that it gives. */
const BLOCK = 64
const DIGEST = 20

/** Shared by all signers, because each signs in one go. A longer body takes the slower way. */
const digestBuffer = Buffer.allocUnsafeSlow(65_536)
const MAX_SHARED = digestBuffer.length - BLOCK

/**
 * HMAC-SHA1 (RFC 2104) as two plain digests: in Node 20 `createHmac` takes 1.4 µs before it has seen a byte,
 * `hash` 0.3 µs (1.8 and 1.1 µs for 205 bytes, 2.9 and 1.8 for 1 KB).
 */
const hmacSha1 = (key: Buffer): Signer => {
  const inner = Buffer.alloc(BLOCK, 0x36)
  const outer = Buffer.alloc(BLOCK + DIGEST, 0x5c)
  const block = key.length > BLOCK ? nodeCrypto().hash('sha1', key, 'buffer') : key
  block.forEach((byte, at) => {
    inner[at] = byte ^ 0x36
    outer[at] = byte ^ 0x5c
  })
  return (body) => {
    const isText = typeof body === 'string'
    // An ArrayBuffer of code without types would be signed as no bytes.
    if (!Number.isInteger(body.length)) throw new TypeError('a body must be text or a Uint8Array')
    if ((isText ? 3 * body.length : body.length) > MAX_SHARED)
      return nodeCrypto().createHmac('sha1', key).update(body).digest('hex')
    let size = body.length
    if (isText) size = digestBuffer.write(body, BLOCK)
    else digestBuffer.set(body, BLOCK)
    digestBuffer.set(inner)
    outer.write(nodeCrypto().hash('sha1', digestBuffer.subarray(0, BLOCK + size), 'binary'), BLOCK, 'latin1')
    return nodeCrypto().hash('sha1', outer, 'hex')
  }
}

const hidden = (): string => '[secret]'

/** How every secret prints. */
const face: object = Object.freeze({
  toString: hidden,
  toJSON: hidden,
  [Symbol.for('nodejs.util.inspect.custom')]: hidden,
})

export const sealed = (signer: Signer): Secret => {
  // The brand exists in types only, so no expression has this type by itself.
  const secret = Object.freeze(Object.create(face)) as Secret
  signers.set(secret, signer)
  return secret
}

/** The signer of a value that is a secret. A WeakMap answers undefined for a value that is no object. */
export const knownSigner = (secret: unknown): Signer | undefined => signers.get(secret as object)

const secretFault = (text: unknown): string | undefined => {
  if (typeof text !== 'string') return 'must be a string'
  if (text === '') return 'must not be empty'
  if (text === hidden()) return 'is what JSON shows of a secret: give the secret itself'
  if (text.trim() !== text) return "must not begin or end with white space, such as a file's last newline"
  // HMAC pads a key with zeros: a key with a NUL at its end would be the same key.
  if (/\p{Cc}/u.test(text)) return 'must not have a control character'
  // With the `u` flag, only a half that has no partner matches.
  if (/\p{Surrogate}/u.test(text)) return 'must be well-formed: half of a surrogate pair has no UTF-8 form'
  return undefined
}

/**
 * A secret out of text, by its UTF-8 bytes: nothing is trimmed or normalised. Refused are other values than
 * strings, the empty string, white space at either end, control characters, half of a surrogate pair, and
 * `[secret]`. The fault never holds the text.
 *
 * @example
 * import { secretFrom, signatureOf } from 'headrace/signing'
 * const secret = secretFrom('correct horse')
 * if (secret._tag === 'Right')
 *   console.log(String(secret.right), signatureOf(secret.right, '{}').length) // => [secret] 40
 */
export const secretFrom = (text: unknown): Either<Fault, Secret> => {
  const message = secretFault(text)
  if (message !== undefined) return left({ path: '', message })
  // Without a fault it is text.
  return right(sealed(hmacSha1(Buffer.from(text as string))))
}

/** The signer of a secret, or of the text of one. A copy of a secret is none. */
export const signerFrom = (secret: unknown): Either<Fault, Signer> => {
  const known = knownSigner(secret)
  if (known !== undefined) return right(known)
  const made = secretFrom(secret)
  return made._tag === 'Left' ? made : signerFrom(made.right)
}

/**
 * The function that makes the `X-Signature` of a body. One `Secret` has one signer, so sinks with the same
 * secret share one signature for a body. Text makes a new secret, and so a new signer, at each call. Throws a
 * `TypeError` if the secret is wrong.
 *
 * @example
 * import { signerOf } from 'headrace/signing'
 * const signer = signerOf('correct horse')
 * console.log(signer('{"type":"track"}') === signer(Buffer.from('{"type":"track"}'))) // => true
 */
export const signerOf = (secret: Secret | string): Signer => signerFor(secret, '')

/** `user` stands before the message: the function of the host's call. */
export const signerFor = (secret: Secret | string, user: string): Signer => {
  const signer = signerFrom(secret)
  if (signer._tag === 'Left') throw new UnfitAnswer(`${user}the secret ${signer.left.message}`)
  return signer.right
}

/** A secret, or a function that is asked for it at each attempt. @inline */
export type SecretSource = Secret | string | (() => Secret | string)

/** Asks the host's function for a secret. Its error may quote the secret, so nothing of it is passed on. */
export const askFor = <A>(ask: () => A): A => {
  try {
    const answer = ask()
    if (!isPromiseLike(answer)) return answer
    ignoreRejection(answer)
  } catch {
    throw new UnfitAnswer('the function of a secret throws an error')
  }
  throw new UnfitAnswer('the function of a secret answers a promise: it must answer at once')
}

/** The signer of an attempt. The last one is kept, so equal answers of a function share one. */
export const signerSource = (source: SecretSource): (() => Signer) => {
  if (typeof source !== 'function') {
    const fixed = signerOf(source)
    return () => fixed
  }
  let last: Secret | string | undefined
  let signer: Signer | undefined
  return () => {
    const secret = askFor(source)
    if (signer !== undefined && secret === last) return signer
    signer = signerOf(secret)
    last = secret
    return signer
  }
}

/**
 * The signature of a body: lower-case hex HMAC-SHA1, 40 characters. Text counts as its UTF-8 bytes. For many
 * bodies make a `Secret` once. Throws a `TypeError` if the secret is wrong.
 *
 * @example
 * import { signatureOf } from 'headrace/signing'
 * const signature = signatureOf('Jefe', 'what do ya want for nothing?')
 * console.log(signature) // => effcdf6ae5eb2fa2d27416d5f184df9c259a7c79
 */
export const signatureOf = (secret: Secret | string, body: string | Uint8Array): string =>
  signerFor(secret, 'signatureOf: ')(body)
