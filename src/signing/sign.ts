import type { Signer } from '../event/payload.ts'
import { digest, keyOf, secretOrThrow } from './secret.ts'
import type { Secret } from './secret.ts'

/**
 * The signature of a body: lower-case hex HMAC-SHA1, 40 characters. Text counts as its UTF-8 bytes. For many bodies make a `Secret` once.
 * Throws a `TypeError` if the secret is wrong.
 *
 * @example
 * import { sign } from 'headrace/signing'
 * console.log(sign('Jefe', 'what do ya want for nothing?')) // => effcdf6ae5eb2fa2d27416d5f184df9c259a7c79
 */
export const sign = (secret: Secret | string, body: string | Uint8Array): string => signerOf(secret)(body)

const signers = new WeakMap<Secret, Signer>()

/**
 * The function that makes the `X-Signature` of a body. One `Secret` has one signer, so sinks with the same secret share one signature for a
 * body. Text makes a new secret, and so a new signer, at each call. Throws a `TypeError` if the secret is wrong.
 *
 * @example
 * import { signerOf } from 'headrace/signing'
 * const signer = signerOf('correct horse')
 * console.log(signer('{"type":"track"}') === signer(Buffer.from('{"type":"track"}'))) // => true
 */
export const signerOf = (secret: Secret | string): Signer => {
  const known = secretOrThrow(secret)
  const made = signers.get(known)
  if (made !== undefined) return made
  const key = keyOf(known)
  if (key === undefined) throw new TypeError('not a secret')
  const signer: Signer = (body) => digest(key, body)
  signers.set(known, signer)
  return signer
}
