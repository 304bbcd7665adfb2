/**
 * One event (or, in a batch, many), encoded once. Its bytes are measured, stored, signed, sent, and sent again, unchanged (BY1).
 *
 * @module
 */

import * as Limits from './limits.ts'
import { randomUUID } from 'node:crypto'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { invalid, tooLarge } from '../core/refusal.ts'
import type { Fault, Refusal } from '../core/refusal.ts'
import { inspection, copyJson, showPath } from './json.ts'

/** A new message id: 36 characters of `[0-9a-f-]` (CO5). Node draws the chance for many of them at once. */
export const newId = (): string => randomUUID()

const COMMA = 0x2c

/**
 * Writes each text to its place in one buffer of the size that is known, so nothing is joined and nothing copied twice.
 * Undefined if somebody's texts do not have the bytes that were said: the buffer, which nobody cleared, must then go nowhere.
 */
const written = ({ byteLength, frame, members }: BatchPayload<unknown>, now: number): Buffer | undefined => {
  const before = frame.before(now)
  const after = frame.after(now)
  const end = byteLength - Buffer.byteLength(after)
  let at = Buffer.byteLength(before)
  if (at + byteLength - end !== frame.size) return undefined
  const bytes = Buffer.allocUnsafe(byteLength)
  bytes.write(before)
  let isFirst = true
  for (const { text, byteLength: size } of members) {
    if (isFirst) isFirst = false
    else bytes[at++] = COMMA
    if (at + size > end) return undefined
    // As many bytes as characters: it is ASCII, which Latin-1 writes in a third of the time.
    if (bytes.write(text, at, size === text.length ? 'latin1' : 'utf8') !== size) return undefined
    at += size
  }
  if (at !== end) return undefined
  bytes.write(after, at)
  return bytes
}

/**
 * The bytes of the body to send at `now` (milliseconds since 1970): what `bodyOf` says, in UTF-8, without making its text
 * first.
 *
 * @example
 * import { bytesOf } from 'headrace'
 * const payload = { id: 'm1', items: ['any item'], text: '{"hello":"wörld"}', byteLength: 18 } as const
 * console.log(bytesOf(payload, Date.now()).length) // => 18
 */
export const bytesOf = (payload: Payload<unknown>, now: number): Uint8Array =>
  payload.members === undefined
    ? Buffer.from(payload.text)
    : (written(payload, now) ?? Buffer.from(bodyOf(payload, now)))

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
export type ClosedBy = 'count' | 'bytes' | 'delay' | 'flush' | 'end'

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
  readonly closedBy: ClosedBy
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

/**
 * An envelope that never changes: text before the members and text after them. One that writes the time of sending into
 * itself is a `Frame` too, as long as every moment has the same width.
 *
 * @example
 * import { envelope } from 'headrace'
 * console.log(envelope({ before: '{"batch":[', after: ']}' }).size) // => 12
 */
export const envelope = (text: { readonly before: string; readonly after: string }): Frame => ({
  size: Buffer.byteLength(text.before) + Buffer.byteLength(text.after),
  before: () => text.before,
  after: () => text.after,
})

/** `[…]`: the body is a JSON array of the members. */
export const jsonArrayFrame: Frame = envelope({ before: '[', after: ']' })

const BRACE = 0x7b
const BRACKET = 0x5b

const fault = (message: string): ReadonlyArray<Fault> => [{ path: '', message }]

/** Why a body could not be written: found by going through it once more, for this is the rare case. */
const whyNot = (body: unknown): ReadonlyArray<Fault> => {
  const look = inspection()
  copyJson(body, 'body', undefined, 0, look)
  return look.findings.length === 0
    ? fault('could not be written as JSON')
    : look.findings.map(({ steps, message }) => ({ path: showPath(steps.slice(1)), message }))
}

const textOf = (body: unknown): string | undefined => {
  try {
    // Of a function or undefined there is no text, whatever the types of JSON.stringify say.
    const text: string | undefined = JSON.stringify(body)
    return text
  } catch {
    return undefined
  }
}

/**
 * Writes a body once, with plain `JSON.stringify`, and measures it once (BY1). The body must be an object or an array: many
 * receivers refuse everything else. `Invalid` when it is not or cannot be written; `TooLarge`, with limit, size and id, when it
 * has more than `limit` bytes of UTF-8 (BY3). Never throws.
 *
 * @param limit bytes; default 64,000 (BY2)
 *
 * @example
 * import { encodePayload } from 'headrace'
 * import { isRight } from 'fp-ts/lib/Either.js'
 * const payload = encodePayload('m1', { any: 'item' }, { hello: 'wörld' })
 * if (isRight(payload)) console.log(payload.right.text, payload.right.byteLength) // => {"hello":"wörld"} 18
 */
export const encodePayload = <A>(
  id: string,
  item: A,
  body: unknown,
  limit: number = Limits.bodyBytes,
): Either<Refusal, EventPayload<A>> => {
  const text = textOf(body)
  if (text === undefined) return left(invalid(item, whyNot(body)))
  // First the bytes: counting joins the pieces that JSON.stringify leaves, and then a character is read at once.
  const byteLength = Buffer.byteLength(text)
  const start = text.charCodeAt(0)
  if (start !== BRACE && start !== BRACKET)
    return left(invalid(item, fault('the body must be an object or an array')))
  return byteLength > limit
    ? left(tooLarge(item, limit, byteLength, id))
    : right({ id, items: [item], text, byteLength })
}
