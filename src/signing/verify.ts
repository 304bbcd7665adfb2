/**
 * Verifies the signature of a body. Nothing here throws because of what a sender sent.
 *
 * @module
 */

import { timingSafeEqual } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { digest, keyOf, secretFrom } from './secret.ts'
import type { Secret } from './secret.ts'

/** One secret, or several while one replaces another. At least one; each is checked before anything is compared. */
export type Secrets = Secret | string | ReadonlyArray<Secret | string>

/** Why a body does not count as verified. */
export type MismatchReason =
  /** There is no signature. */
  | 'missing'
  /** The signature is not 40 lower-case hexadecimal digits, so nothing was compared. */
  | 'malformed'
  /** The signature belongs to another body or to another secret. */
  | 'mismatch'
  /** The receiver's own secret is empty, padded or none: nothing can be verified with it. */
  | 'badSecret'
  /** What was given as the body is not the kind of thing that this function verifies. */
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
  /** What happened and what to do, for the operator of the receiver. Log it; do not send it back. */
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
}

export const mismatch = (reason: MismatchReason, explanation: string): Mismatch => ({
  _tag: 'Mismatch',
  reason,
  explanation,
})

export const verified = (secret: number): Verified => ({ _tag: 'Verified', secret })

/** Only this form is ever compared: `timingSafeEqual` throws on other lengths, and hex decoding drops a bad tail. */
const SIGNATURE = /^[0-9a-f]{40}$/

const whatIsWrong = (text: string): string => {
  if (text.includes(',')) return 'there are several'
  if (text.length !== 40) return `it has ${String(text.length)} characters`
  return SIGNATURE.test(text.toLowerCase()) ? 'it has upper-case characters' : 'it has other characters'
}

/**
 * The keys of all secrets. One that is wrong fails them all, so that an unset variable among two secrets is seen at once.
 */
export const checkSecrets = (secrets: Secrets): Either<Mismatch, ReadonlyArray<KeyObject>> => {
  const list: ReadonlyArray<unknown> = Array.isArray(secrets) ? secrets : [secrets]
  const keys: KeyObject[] = []
  for (const each of list) {
    const made = keyOf(each) === undefined ? secretFrom(each) : right(each)
    if (made._tag === 'Left')
      return left(
        mismatch('badSecret', `this receiver's secret ${made.left.message}: nothing can be verified with it`),
      )
    const key = keyOf(made.right)
    if (key !== undefined) keys.push(key)
  }
  return keys.length > 0
    ? right(keys)
    : left(mismatch('badSecret', 'this receiver has no secret: nothing can be verified without one'))
}

/**
 * The position of the first key whose signature of the body is this one; undefined if there is none. In constant time: every key is tried,
 * and every comparison looks at all 40 characters.
 */
const compare = (
  keys: ReadonlyArray<KeyObject>,
  body: string | Uint8Array,
  signature: string,
): number | undefined => {
  const given = Buffer.from(signature, 'latin1')
  let found: number | undefined
  keys.forEach((key, position) => {
    const isEqual = timingSafeEqual(Buffer.from(digest(key, body), 'latin1'), given)
    if (isEqual && found === undefined) found = position
  })
  return found
}

/** The signature in its one form, or why it is none. Takes any value that the header may have. */
export const checkSignature = (value: unknown): Either<Mismatch, string> => {
  if (value === undefined || value === null || value === '')
    return left(
      mismatch('missing', 'there is no signature: the sender has no secret, or a proxy removed the header'),
    )
  if (typeof value === 'string' && SIGNATURE.test(value)) return right(value)
  const wrong = typeof value === 'string' ? whatIsWrong(value) : 'it is not text, or there are several'
  return left(mismatch('malformed', `the signature is not 40 lower-case hexadecimal digits: ${wrong}`))
}

/** Above this no second form is tried: no webhook body is longer, and a wrong body must not cause work. */
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
 * Verifies the bytes of a body as they arrived, which is right for every sender. Never throws, and takes constant time. With several
 * secrets, any of them may have signed. Text counts as its UTF-8 bytes; prefer bytes, because decoding to text makes different wrong bytes
 * equal. A signature does not stop an old request from being sent again: remember the message ids you have seen.
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

const serialise = (body: unknown): string | undefined => {
  try {
    // Its type says string, but it answers undefined for undefined, functions and symbols.
    return JSON.stringify(body)
  } catch {
    return undefined
  }
}

const explainParsed = (body: unknown): string =>
  typeof body === 'string' || ArrayBuffer.isView(body)
    ? 'the body does not match: this is text or bytes, not a parsed body; use verifyRaw'
    : 'the re-serialised body does not match: it was changed after parsing, the sender does not write JSON as JSON.stringify does, or the secret is another; verifyRaw over the raw bytes is right for every sender'

/**
 * Verifies a body that was parsed already, over `JSON.stringify` of it. It agrees with `verifyRaw` for every body that headrace sends;
 * other senders may write JSON another way. Prefer `verifyRaw` where you have the bytes. Never throws, and takes constant time.
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
  return secret === undefined ? left(mismatch('mismatch', explainParsed(body))) : right(verified(secret))
}
