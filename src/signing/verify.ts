/** Verifies the signature of a body. Nothing here throws because of a sender's input. */
import { nodeCrypto } from '../core/package.ts'
import { left, right, valueOr, type Either } from '../core/either.ts'
import type { Signer } from '../event/payload.ts'
import { signerFrom, type Secret } from './secret.ts'

/** One secret, or several while one replaces another. At least one; each is checked before a comparison. */
export type Secrets = Secret | string | ReadonlyArray<Secret | string>

/** Why a body does not count as verified. @inline */
export type MismatchReason =
  /** There is no signature. */
  | 'missing'
  /** The signature is not 40 lower-case hexadecimal digits, so nothing was compared. */
  | 'malformed'
  /** The signature belongs to another body or to another secret. */
  | 'mismatch'
  /** The `webhook-timestamp` is further from now than the tolerance: an old request, or a wrong clock. */
  | 'stale'
  /** The receiver's own secret is empty, padded or none: nothing can be verified. */
  | 'badSecret'
  /** The receiver's own `now` throws, or does not answer milliseconds since 1970. */
  | 'badClock'
  /** The body is not of the kind that this function verifies. */
  | 'badBody'
  /** The request's body was read before, so its bytes are gone. */
  | 'bodyConsumed'
  /** The request's body is longer than the bound. */
  | 'tooLarge'
  /** The request broke off, or is not a request. */
  | 'unreadable'

/** Not verified. */
export interface Mismatch {
  readonly _tag: 'Mismatch'
  readonly reason: MismatchReason
  /**
   * The status to answer: 401, or 413 for `tooLarge`, which are final for the sender. 500 for `unreadable`
   * and for a fault of the receiver's own (`badSecret` …, `bodyConsumed`), so that the request comes again.
   */
  readonly status: 401 | 413 | 500
  /** The cause and the remedy, for the operator of the receiver. Log it; do not send it back. */
  readonly explanation: string
}

/** The body is the one that was signed. */
export interface Verified {
  readonly _tag: 'Verified'
  /** The position of the secret that fits: an old secret that no longer fits any request can be removed. */
  readonly secret: number
}

/** A request whose body is the one that was signed. */
export interface VerifiedRequest extends Verified {
  /** The body's bytes as they arrived. */
  readonly body: Uint8Array
  /** The same as text. */
  readonly text: string
  /** The header that it was judged by. */
  readonly by: 'X-Signature' | 'webhook-signature'
  /**
   * The signed `webhook-id`; remember it, for the same message may come twice. headrace percent-encodes a
   * `messageId` that has a `%`, or more than visible ASCII: `a b` of the body is `a%20b` here.
   */
  readonly id?: string
}

const NOT_AUTHENTIC: ReadonlyArray<MismatchReason> = ['missing', 'malformed', 'mismatch', 'stale']

/** Not verified, and why. */
export const failed = (reason: MismatchReason, explanation: string): Either<Mismatch, never> => {
  const status = reason === 'tooLarge' ? 413 : NOT_AUTHENTIC.includes(reason) ? 401 : 500
  return left({ _tag: 'Mismatch', reason, status, explanation })
}

/** Only this form is compared: `timingSafeEqual` throws on other lengths; hex decoding drops bad tails. */
const SIGNATURE = /^[0-9a-f]{40}$/

/** Finds the secret that signed a body. */
export type Verify = (body: string | Uint8Array) => Either<Mismatch, Verified>

/** Above this no second form is tried: no webhook body is longer, and a wrong body must not cause work. */
const MAX_REWRITTEN = 64_000

/** The body in the form of `JSON.stringify`. */
const rewritten = (body: string | Uint8Array): string | undefined => {
  if (body.length > MAX_REWRITTEN) return undefined
  return valueOr(undefined, () => JSON.stringify(JSON.parse(Buffer.from(body).toString())))
}

/**
 * Verifies bodies of this signature, in constant time. One secret that is wrong fails them all, so that an
 * unset variable among two secrets is seen at once.
 *
 * @param signature any value that the header may have
 */
export const verifierOf = (secrets: Secrets, signature: unknown): Either<Mismatch, Verify> => {
  const signers: Signer[] = []
  for (const each of Array.isArray(secrets) ? (secrets as ReadonlyArray<unknown>) : [secrets]) {
    const signer = signerFrom(each)
    if (signer._tag === 'Left')
      return failed('badSecret', `this receiver's secret ${signer.left.message}: nothing can be verified`)
    signers.push(signer.right)
  }
  if (signers.length === 0) return failed('badSecret', 'this receiver has no secret: nothing can be verified')
  if (signature === undefined || signature === null || signature === '')
    return failed('missing', 'there is no signature: the sender has no secret, or a proxy removed the header')
  if (typeof signature !== 'string' || !SIGNATURE.test(signature))
    return failed('malformed', 'the signature must be one value of 40 lower-case hexadecimal digits')
  const given = Buffer.from(signature)
  /** Every secret is tried, and every comparison looks at all 40 characters. */
  const positionOf = (body: string | Uint8Array): number =>
    signers.map((signer) => nodeCrypto().timingSafeEqual(Buffer.from(signer(body)), given)).indexOf(true)
  return right((body) => {
    const secret = positionOf(body)
    if (secret >= 0) return right({ _tag: 'Verified', secret })
    const other = rewritten(body)
    return failed(
      'mismatch',
      other !== undefined && positionOf(other) >= 0
        ? 'the raw body does not match, but its re-serialised form does: something on the way ' +
            'wrote the JSON anew, or the sender signs another form than it sends; give the bytes as ' +
            'they arrived, or use verifyParsed'
        : 'the signature belongs to another body or another secret: compare the secrets, and see ' +
            'that nothing on the way changes the body or compresses it',
    )
  })
}

/**
 * Verifies the bytes of a body as they arrived, which is right for every sender. Never throws, and takes
 * constant time. With several secrets, any of them may have signed. Text counts as its UTF-8 bytes; prefer
 * bytes, because decoding to text makes different wrong bytes equal. A signature does not stop an old request
 * from being sent again: remember the message ids you have seen.
 *
 * @param signature the value of the `X-Signature` header, whatever it is
 * @example
 * import { signatureOf, verifyRaw } from 'headrace/signing'
 * const body = Buffer.from('{"type":"track"}')
 * const result = verifyRaw(['new secret', 'old secret'], body, signatureOf('old secret', body))
 * console.log(result._tag === 'Right' ? result.right.secret : result.left.explanation) // => 1
 */
export const verifyRaw = (
  secrets: Secrets,
  body: string | Uint8Array,
  signature: unknown,
): Either<Mismatch, Verified> => {
  const verifier = verifierOf(secrets, signature)
  if (verifier._tag === 'Left') return verifier
  if (typeof body === 'string') return verifier.right(body)
  if (ArrayBuffer.isView(body))
    return verifier.right(new Uint8Array(body.buffer, body.byteOffset, body.byteLength))
  return failed('badBody', 'the body is neither bytes nor text: keep the raw bytes, or use verifyParsed')
}

/**
 * Verifies a body that was parsed already, over `JSON.stringify` of it. It agrees with `verifyRaw` for every
 * body that headrace sends; other senders may write JSON another way. Prefer `verifyRaw` where you have the
 * bytes: a body that is not parsed is `badBody`. Never throws, and takes constant time.
 *
 * @param body what the JSON parser made, unchanged: a field added by a middleware makes it another body
 * @param signature the value of the `X-Signature` header, whatever it is
 * @example
 * import { signatureOf, verifyParsed } from 'headrace/signing'
 * const body: unknown = JSON.parse('{"type":"track","userId":"u1"}')
 * const signature = signatureOf('correct horse', JSON.stringify(body))
 * console.log(verifyParsed('correct horse', body, signature)._tag) // => Right
 */
export const verifyParsed = (
  secrets: Secrets,
  body: unknown,
  signature: unknown,
): Either<Mismatch, Verified> => {
  const verifier = verifierOf(secrets, signature)
  if (verifier._tag === 'Left') return verifier
  // A text that was parsed may be a body too, so only one that fits unparsed is the receiver's own fault.
  const isText = typeof body === 'string' && verifier.right(body)._tag === 'Right'
  if (isText || ArrayBuffer.isView(body) || body instanceof ArrayBuffer)
    return failed('badBody', 'the body is not parsed: verify its text or bytes with verifyRaw')
  // For undefined, functions and symbols `JSON.stringify` answers undefined, though its type says string.
  const text = valueOr(undefined, () => JSON.stringify(body))
  if (text !== undefined) return verifier.right(text)
  return failed('badBody', 'the body cannot be written as JSON: is there a JSON body parser before this?')
}
