import type { Signer } from '../event/payload.ts'
import { digest, keyOf, secretOrThrow } from './secret.ts'
import type { Secret } from './secret.ts'

/**
 * The signature of a body as it is sent: lower-case hex HMAC-SHA1, 40 characters (DE10). Text counts as its UTF-8 bytes. For
 * many bodies make a `Secret` once: its key is then ready. Throws a `TypeError` if the secret is wrong.
 *
 * @example
 * import { sign } from 'headrace/signing'
 * console.log(sign('Jefe', 'what do ya want for nothing?')) // => effcdf6ae5eb2fa2d27416d5f184df9c259a7c79
 */
export const sign = (secret: Secret | string, body: string | Uint8Array): string => signerOf(secret)(body)

const signers = new WeakMap<Secret, Signer>()

/**
 * The function that signs with a secret: `X-Signature` is what it answers (DE10). One `Secret` has one signer, so sinks that
 * were given the same secret can see that they share it, and make one signature for all (performance: once per body, not per
 * URL). Text makes a new secret, and so a new signer, at each call. Throws a `TypeError` if the secret is wrong.
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
