/**
 * What a verification answers. The two sides of one Either; nothing in this folder throws because of what a sender sent.
 *
 * @module
 */
import type { Secret } from './Secret.ts'

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
  /** For the people who run the receiver: what happened and what to do. Log it; do not send it back. */
  readonly explanation: string
}

/** The body is the one that was signed. */
export interface Verified {
  readonly _tag: 'Verified'
  /** Which of the secrets it was, by position: when it is never the old one any more, the old one can go. */
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
