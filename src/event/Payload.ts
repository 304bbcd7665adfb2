/**
 * One event (or, in a batch, many), encoded once. Its bytes are measured, stored, signed, sent, and sent again, unchanged (BY1).
 *
 * @module
 */

/** Makes the signature of a body: lower-case hex (DE10). It is a value, so that equal signers can share their work. */
export type Signer = (body: string | Uint8Array) => string

/** The envelope that a batch puts around its members. Its size is known beforehand, so a batch's bytes are exact (BY2). */
export interface Frame {
  /** UTF-8 bytes of the envelope without any member and without separators. The same at every moment. */
  readonly size: number
  /** Writes the body: the members, already joined by commas, inside the envelope. `now` is milliseconds since 1970. */
  readonly wrap: (members: string, now: number) => string
}

/** Why a batch closed (BA1). */
export type Closing = 'count' | 'bytes' | 'delay' | 'flush' | 'end'

/** Something encoded, ready to be sent as often as needed. */
export interface Payload<out A> {
  /** The message id; a batch has one of its own. */
  readonly id: string
  /** What it carries: one item, or the members of a batch in their order. */
  readonly items: ReadonlyArray<A>
  /** The JSON text; for a batch its members joined by commas, without the envelope. */
  readonly text: string
  /** UTF-8 bytes of the body as it is sent, envelope included. */
  readonly byteLength: number
  /** A batch's envelope. */
  readonly frame?: Frame
  /** Why the batch closed. */
  readonly closedBy?: Closing
  /** Signs the body when it is sent; the signature is never stored. */
  readonly signer?: Signer
}

/** The body to send at `now` (milliseconds since 1970). A single event's body is the same string every time. */
export const bodyOf = (payload: Payload<unknown>, now: number): string =>
  payload.frame === undefined ? payload.text : payload.frame.wrap(payload.text, now)
