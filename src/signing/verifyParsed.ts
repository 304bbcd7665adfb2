import { type Either, left, right } from 'fp-ts/lib/Either.js'
import { checkSecrets } from './checkSecrets.ts'
import { checkSignature } from './checkSignature.ts'
import { compare } from './compare.ts'
import { mismatch, type Mismatch, type Secrets, type Verified, verified } from './Mismatch.ts'

const serialise = (body: unknown): string | undefined => {
  try {
    // Its type says string, but it answers undefined for undefined, functions and symbols.
    return JSON.stringify(body)
  } catch {
    return undefined
  }
}

const explain = (body: unknown): string =>
  typeof body === 'string' || ArrayBuffer.isView(body)
    ? 'the body does not match: this is text or bytes, not a parsed body; use verifyRaw'
    : 'the re-serialised body does not match: it was changed after parsing, the sender does not write JSON as JSON.stringify does, or the secret is another; verifyRaw over the raw bytes is right for every sender'

/**
 * Verifies a body that was parsed already, as the source describes: over `JSON.stringify` of it (DE10). It agrees with
 * `verifyRaw` for every body that headrace sends (BY1), but in Node only: other languages write JSON another way, and so do
 * other senders. Prefer `verifyRaw` where the bytes can be had. Total and constant time, as `verifyRaw` is.
 *
 * @param body what the JSON parser made, unchanged: a field added by a middleware makes it another body
 * @param signature the value of the `X-Signature` header, whatever it is
 * @example
 * import { sign, verifyParsed } from 'headrace/signing'
 * const body: unknown = JSON.parse('{"type":"track","userId":"u1"}')
 * console.log(verifyParsed('correct horse', body, sign('correct horse', JSON.stringify(body)))._tag) // => Right
 */
export const verifyParsed = (
  secrets: Secrets,
  body: unknown,
  signature: unknown,
): Either<Mismatch, Verified> => {
  const keys = checkSecrets(secrets)
  if (keys._tag === 'Left') return keys
  const text = serialise(body)
  if (text === undefined)
    return left(
      mismatch('badBody', 'the body cannot be written as JSON: is there a JSON body parser before this?'),
    )
  const header = checkSignature(signature)
  if (header._tag === 'Left') return header
  const secret = compare(keys.right, text, header.right)
  return secret === undefined ? left(mismatch('mismatch', explain(body))) : right(verified(secret))
}
