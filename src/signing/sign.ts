import type { Secret } from './Secret.ts'
import { signerOf } from './signerOf.ts'

/**
 * The signature of a body as it is sent: lower-case hex HMAC-SHA1, 40 characters (DE10). Text counts as its UTF-8 bytes. For
 * many bodies make a `Secret` once: its key is then ready. Throws a `TypeError` if the secret is wrong.
 *
 * @example
 * import { sign } from 'headrace/signing'
 * console.log(sign('Jefe', 'what do ya want for nothing?')) // => effcdf6ae5eb2fa2d27416d5f184df9c259a7c79
 */
export const sign = (secret: Secret | string, body: string | Uint8Array): string => signerOf(secret)(body)
