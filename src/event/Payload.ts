/**
 * One event (or, in a batch, many), encoded once. Its bytes are measured, stored, signed, sent, and sent again, unchanged (BY1).
 *
 * @module
 */

/** Makes the signature of a body: lower-case hex (DE10). It is a value, so that equal signers can share their work. */
export type Signer = (body: string | Uint8Array) => string

/**
 * The envelope that a batch puts around its members, which are joined by commas. Its size is known beforehand, so a batch's
 * bytes are exact (BY2). `now`, the moment of sending, is milliseconds since 1970.
 *
 * @example
 * import type { Frame } from 'headrace'
 * const sentAt = (now: number): string => `],"sentAt":"${new Date(now).toISOString()}"}`
 * const frame: Frame = { size: '{"batch":['.length + sentAt(0).length, before: () => '{"batch":[', after: sentAt }
 * console.log(frame.size) // => 48
 */
export interface Frame {
  /** UTF-8 bytes of both texts together, the same at every moment. */
  readonly size: number
  /** What comes before the first member. */
  readonly before: (now: number) => string
  /** What comes after the last member. */
  readonly after: (now: number) => string
}

/** Why a batch closed (BA1). */
export type Closing = 'count' | 'bytes' | 'delay' | 'flush' | 'end'

/** One event, encoded. */
export interface EventPayload<out A> {
  /** The message id. */
  readonly id: string
  /** What it carries. */
  readonly items: readonly [A]
  /** The JSON text. It is the body. */
  readonly text: string
  /** UTF-8 bytes of the text. */
  readonly byteLength: number
  /** Signs the body when it is sent; the signature is never stored. */
  readonly signer?: Signer
  readonly members?: never
  readonly frame?: never
  readonly closedBy?: never
}

/** Many events that are sent as one body. */
export interface BatchPayload<out A> {
  /** The batch's own id. */
  readonly id: string
  /** What the members carry, in their order. */
  readonly items: ReadonlyArray<A>
  /** The events as they were encoded. Their texts are joined when the batch is sent, not before. */
  readonly members: ReadonlyArray<EventPayload<A>>
  /** UTF-8 bytes of the body as it is sent, envelope included. */
  readonly byteLength: number
  /** Its envelope. */
  readonly frame: Frame
  /** Why it closed. */
  readonly closedBy: Closing
  /** Signs the body when it is sent; the signature is never stored. */
  readonly signer?: Signer
  readonly text?: never
}

/** Something encoded, ready to be sent as often as needed: one event, or a batch, which has `members`. */
export type Payload<A> = EventPayload<A> | BatchPayload<A>

/** The body to send at `now` (milliseconds since 1970), as text. A single event's body is the same string every time. */
export const bodyOf = (payload: Payload<unknown>, now: number): string => {
  if (payload.members === undefined) return payload.text
  const texts = payload.members.map(({ text }) => text)
  return payload.frame.before(now) + texts.join() + payload.frame.after(now)
}
