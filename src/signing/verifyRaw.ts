import type { KeyObject } from 'node:crypto'
import { type Either, left, right } from 'fp-ts/lib/Either.js'
import { checkSecrets } from './checkSecrets.ts'
import { checkSignature } from './checkSignature.ts'
import { compare } from './compare.ts'
import { mismatch, type Mismatch, type Secrets, type Verified, verified } from './Mismatch.ts'

/** Above this no second form is tried: no webhook body is longer (BY2), and a stranger must not buy work with a wrong body. */
const LONGEST_EXPLAINED = 64_000

const reformatted = (body: string | Uint8Array): string | undefined => {
  if (body.length > LONGEST_EXPLAINED) return undefined
  try {
    const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
    return JSON.stringify(JSON.parse(text))
  } catch {
    return undefined
  }
}

const explain = (keys: ReadonlyArray<KeyObject>, body: string | Uint8Array, signature: string): string => {
  const other = reformatted(body)
  return other !== undefined && compare(keys, other, signature) !== undefined
    ? 'the raw body does not match, but its re-serialised form does: something on the way wrote the JSON anew, or the sender signs another form than it sends; give the bytes as they arrived, or use verifyParsed'
    : 'the signature belongs to another body or another secret: compare the secrets, and see that nothing changes the body on the way'
}

/**
 * Verifies the bytes of a body as they arrived (DE10), which is right for every sender and every language. Total: it answers
 * for anything that a stranger can send and never throws. Constant time. With several secrets, any of them may have signed.
 * Text counts as its UTF-8 bytes; bytes are safer, because decoding to text is where wrong bytes become equal (webhooks/S36).
 * A signature alone does not stop an old request from being sent again: remember the message ids you have seen (webhooks/S39).
 *
 * @param signature the value of the `X-Signature` header, whatever it is
 * @example
 * import { sign, verifyRaw } from 'headrace/signing'
 * const body = Buffer.from('{"type":"track"}')
 * const result = verifyRaw(['new secret', 'old secret'], body, sign('old secret', body))
 * console.log(result._tag === 'Right' ? result.right.secret : result.left.explanation) // => 1
 */
export const verifyRaw = (
  secrets: Secrets,
  body: string | Uint8Array,
  signature: unknown,
): Either<Mismatch, Verified> => {
  const keys = checkSecrets(secrets)
  if (keys._tag === 'Left') return keys
  if (typeof body !== 'string' && !ArrayBuffer.isView(body))
    return left(
      mismatch(
        'badBody',
        'the body is neither bytes nor text: keep the raw bytes, or use verifyParsed for a parsed body',
      ),
    )
  const text = checkSignature(signature)
  if (text._tag === 'Left') return text
  const secret = compare(keys.right, body, text.right)
  return secret === undefined
    ? left(mismatch('mismatch', explain(keys.right, body, text.right)))
    : right(verified(secret))
}
