/**
 * One event, or a batch of them, encoded once. Its bytes are measured, stored, signed, sent, and sent again, unchanged.
 *
 * @module
 */

import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { randomUUID } from 'node:crypto'
import { isRecord } from '../core/json.ts'
import { invalid, tooLarge } from '../core/refusal.ts'
import type { Refusal } from '../core/refusal.ts'
import { copyJson, newLook, toFaults } from './json.ts'
import * as Limits from './limits.ts'
import { fromMillis } from './timestamp.ts'

/** A new message id: 36 characters of `[0-9a-f-]`. */
export const newId = (): string => randomUUID()

/** Makes the signature of a body: lower-case hex. */
export type Signer = (body: string | Uint8Array) => string

/**
 * What stands around the members of a batch, which are joined by commas. With `sentAt` the time of sending is written as the last member of
 * the envelope, just before the final `}` of the suffix.
 *
 * @example
 * import type { Frame } from 'headrace'
 * const frame: Frame = { prefix: '{"batch":[', suffix: ']}', sentAt: true } // {"batch":[…],"sentAt":"2024-02-29T12:00:00.000Z"}
 */
export interface Frame {
  readonly prefix: string
  readonly suffix: string
  readonly sentAt?: true
}

/** A frame without a time of sending: the body is known before it is sent, so it can be signed. */
export interface FixedFrame extends Frame {
  readonly sentAt?: never
}

/** The body is a JSON array of the members. */
export const jsonArrayFrame: FixedFrame = { prefix: '[', suffix: ']' }

/** The end of a body that is sent at `now`. Each time has the same width; one outside the years 0000 to 9999 is written as 1970. */
const endOf = ({ suffix, sentAt }: Frame, now: number): string =>
  sentAt === undefined
    ? suffix
    : `${suffix.slice(0, -1)},"sentAt":"${fromMillis(now) ?? '1970-01-01T00:00:00.000Z'}"}`

/** UTF-8 bytes of an envelope, the same at every time of sending. */
export const frameBytes = (frame: Frame): number =>
  Buffer.byteLength(frame.prefix) + Buffer.byteLength(endOf(frame, 0))

/** Why a batch closed. */
export type ClosedBy = 'count' | 'bytes' | 'delay' | 'flush' | 'end' | 'retry'

/** One event, encoded. */
export interface EventPayload<out A> {
  /** The message id. */
  readonly id: string
  /** The event. */
  readonly items: readonly [A]
  /** The JSON text. It is the body. */
  readonly text: string
  /** UTF-8 bytes of the text. */
  readonly byteLength: number
  /** The signature of the body, set by `sign`: lower-case hex. A sink with a secret of its own makes its own. */
  readonly signature?: string
  readonly members?: never
  readonly frame?: never
  readonly closedBy?: never
}

/** Many events that are sent as one body. Plain data, as is every payload: it may be stored and sent by another process. */
export interface BatchPayload<out A, out F extends Frame = Frame> {
  /** The batch's own id. */
  readonly id: string
  /** The events of the members, in their order. */
  readonly items: ReadonlyArray<A>
  /** The events as they were encoded. Their texts are joined when the batch is sent. */
  readonly members: ReadonlyArray<EventPayload<A>>
  /** UTF-8 bytes of the body as it is sent, envelope included. */
  readonly byteLength: number
  readonly frame: F
  readonly closedBy: ClosedBy
  /** As of an event. It covers the whole body, so a signed batch cannot be divided. */
  readonly signature?: string
  readonly text?: never
}

/** Something encoded, ready to be sent as often as needed: one event, or a batch, which has `members`. */
export type Payload<A> = EventPayload<A> | BatchPayload<A>

/** Whether a value that code without types gave is a payload. */
export const isPayload = (value: unknown): value is Payload<unknown> =>
  isRecord(value) &&
  Array.isArray(value['items']) &&
  typeof value['byteLength'] === 'number' &&
  (typeof value['text'] === 'string' || Array.isArray(value['members']))

/** The body to send at `now` (milliseconds since 1970), as text. The body of a single event never changes. */
export const bodyOf = (payload: Payload<unknown>, now: number): string => {
  if (payload.members === undefined) return payload.text
  const { frame, members } = payload
  return frame.prefix + members.map(({ text }) => text).join() + endOf(frame, now)
}

const COMMA = 0x2c

/**
 * Writes each text to its place in one buffer of the known size: nothing is joined and nothing copied twice. Undefined if a text does not
 * have the bytes that its payload says.
 */
const written = ({ byteLength, frame, members }: BatchPayload<unknown>, now: number): Buffer | undefined => {
  const suffix = endOf(frame, now)
  const end = byteLength - Buffer.byteLength(suffix)
  const bytes = Buffer.allocUnsafe(byteLength)
  let at = bytes.write(frame.prefix)
  if (at < frame.prefix.length) return undefined
  for (const [index, { text, byteLength: size }] of members.entries()) {
    if (index > 0) bytes[at++] = COMMA
    if (at + size > end) return undefined
    // As many bytes as characters means ASCII, which Latin-1 writes in a third of the time.
    if (bytes.write(text, at, size === text.length ? 'latin1' : 'utf8') !== size) return undefined
    at += size
  }
  if (at !== end) return undefined
  bytes.write(suffix, at)
  return bytes
}

/**
 * The bytes of the body to send at `now` (milliseconds since 1970): `bodyOf` in UTF-8, without making its text first.
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

const BRACE = 0x7b
const BRACKET = 0x5b

const textOf = (body: unknown): string | undefined => {
  try {
    // Its type says string, but it answers undefined for undefined, functions and symbols.
    return JSON.stringify(body)
  } catch {
    return undefined
  }
}

/** A body that cannot be written is rare, so it is read once more to find out why. */
const unwritable = (item: unknown, body: unknown): Refusal => {
  const look = newLook()
  copyJson(look, body)
  const faults = toFaults(look.findings)
  return invalid(item, faults.length > 0 ? faults : [{ path: '', message: 'could not be written as JSON' }])
}

/**
 * Writes a body once, with plain `JSON.stringify`, and measures it once. The body must be an object or an array, for many receivers refuse
 * everything else. Answers `Invalid` when it is not or cannot be written, and `TooLarge` when it has more than `limit` bytes of UTF-8.
 * Never throws.
 *
 * @param limit bytes; default 64,000
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
  if (text === undefined) return left(unwritable(item, body))
  // Counting the bytes first flattens the rope that JSON.stringify made, so that a character is read at once.
  const byteLength = Buffer.byteLength(text)
  const start = text.charCodeAt(0)
  if (start !== BRACE && start !== BRACKET)
    return left(invalid(item, [{ path: '', message: 'the body must be an object or an array' }]))
  return byteLength > limit
    ? left(tooLarge(item, limit, byteLength, id))
    : right({ id, items: [item], text, byteLength })
}
