/** One event, or a batch, encoded once. Its bytes are measured, stored, signed and sent again unchanged. */
import { ignoreRejection, isPromiseLike } from '../core/awaitable.ts'
import { nodeCrypto } from '../core/package.ts'
import { left, right, valueOr, type Either } from '../core/either.ts'
import { PLAIN_TEXT, isRecord } from '../core/json.ts'
import { invalid, tooLarge, type Refusal } from '../core/refusal.ts'
import { copyJson, isJson, newCopying, toFaults } from './json.ts'
import * as Limits from './limits.ts'
import { fromMillis } from './timestamp.ts'

const HEX_DIGITS = Buffer.from('0123456789abcdef')
/** The places of the 16 bytes in the text of a UUID. */
const BYTE_PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]
const randomBytes = Buffer.alloc(2_048)
const idText = Buffer.alloc(36, '-')
let unusedBytes = 0

/**
 * A new message id: a random UUID, 36 characters of `[0-9a-f-]`. `randomUUID` of Node joins 20 texts, which
 * takes twice the time and 640 bytes of garbage.
 */
export const newId = (): string => {
  if (unusedBytes === 0) unusedBytes = nodeCrypto().randomFillSync(randomBytes).length
  for (let at = 15; at >= 0; at--) {
    const byte = randomBytes[--unusedBytes] ?? 0
    const place = BYTE_PLACES[at] ?? 0
    // Version 4, and the variant of RFC 9562.
    idText[place] = at === 6 ? 0x34 : (HEX_DIGITS[at === 8 ? 8 + (byte >> 6) : byte >> 4] ?? 0)
    idText[place + 1] = HEX_DIGITS[byte & 15] ?? 0
  }
  return idText.toString('latin1')
}

/** Makes the signature of a body: lower-case hex. */
export type Signer = (body: string | Uint8Array) => string

/**
 * The text around the members of a batch, which are joined by commas. With `sentAt` the time of sending is
 * written as the last member of the frame, just before the final `}` of the suffix.
 *
 * @example
 * import type { Frame } from 'headrace/events'
 * // {"batch":[…],"sentAt":"2024-02-29T12:00:00.000Z"}
 * const frame: Frame = { prefix: '{"batch":[', suffix: ']}', sentAt: true }
 */
export interface Frame {
  readonly prefix: string
  readonly suffix: string
  readonly sentAt?: true
}

/** A frame without a time of sending: the body is known before it is sent, so it can be signed. @inline */
export interface FixedFrame extends Frame {
  readonly sentAt?: never
}

/** The body is a JSON array of the members. */
export const jsonArrayFrame: FixedFrame = { prefix: '[', suffix: ']' }

const EPOCH = '1970-01-01T00:00:00.000Z'

/** The end of a body sent at `now`. All times have one width; outside the years 0000 to 9999 it is 1970. */
const frameEnd = ({ suffix, sentAt }: Frame, now: number): string =>
  sentAt === undefined ? suffix : `${suffix.slice(0, -1)},"sentAt":"${fromMillis(now) ?? EPOCH}"}`

/** UTF-8 bytes of a frame, the same at every time of sending. */
export const frameBytes = (frame: Frame): number =>
  Buffer.byteLength(frame.prefix) + Buffer.byteLength(frameEnd(frame, 0))

/** Why a batch closed. Only the client says `retry`: its messages were sent or held back before. @inline */
export type ClosedBy = 'count' | 'bytes' | 'delay' | 'flush' | 'end' | 'retry' | 'keys'

/** Data beside an event. @inline */
export type Meta = Readonly<Record<string, string>>

const MAX_META = 1_024

/** The answer of a host's `meta`. `failed` gets the error if it throws, or if its answer cannot be used. */
export const metaOf = (ask: () => unknown, failed: (error: unknown) => void): Meta | undefined => {
  try {
    const meta = ask()
    if (meta === undefined) return undefined
    ignoreRejection(meta)
    if (!isMeta(meta) || isPromiseLike(meta)) throw new TypeError('meta must answer an object of texts')
    const copy = { ...meta }
    if (metaBytes({ meta: copy }) > MAX_META) throw new RangeError('meta answered more than 1,024 bytes')
    return copy
  } catch (error) {
    failed(error)
    return undefined
  }
}

export const isMeta = (value: unknown): value is Meta =>
  isRecord(value) && Object.values(value).every((text) => typeof text === 'string')

/** Bytes of its JSON. Mostly counted without writing it: that took a traced event 4 % of its time. */
export const metaBytes = ({ meta }: { readonly meta?: Meta }): number => {
  if (meta === undefined) return 0
  let bytes = 1
  for (const key of Object.keys(meta)) {
    const text = meta[key] ?? ''
    if (!PLAIN_TEXT.test(key) || !PLAIN_TEXT.test(text)) return Buffer.byteLength(JSON.stringify(meta))
    bytes += key.length + text.length + '"":"",'.length
  }
  return Math.max(2, bytes)
}

/** One event, encoded. */
export interface EventPayload<out A> {
  /** The message id. */
  readonly id: string
  /** The event. */
  readonly items: readonly [A]
  /** The body as text: JSON, unless there is a `contentType`. */
  readonly text: string
  /** Bytes of the body as it is sent. */
  readonly byteLength: number
  /** The media type of a format other than JSON. Default `application/json`. */
  readonly contentType?: string
  /** The body is no text: its bytes are stored as base64. */
  readonly encoding?: 'base64'
  /** The signature of the body, set by `sign`: lower-case hex. A sink with its own secret makes its own. */
  readonly signature?: string
  /** The answer of `orderBy` of a destination, which is asked once; it is stored with the event. */
  readonly orderKey?: string
  /** The answer of `meta`: data beside the event, which is stored and not sent. */
  readonly meta?: Meta
  readonly members?: never
  readonly frame?: never
  readonly closedBy?: never
}

/** Many events that are sent as one body. Plain data, as is every payload: another process may send it. */
export interface BatchPayload<out A, out F extends Frame = Frame> {
  /** The batch's own id. */
  readonly id: string
  /** The events of the members, in their order. */
  readonly items: ReadonlyArray<A>
  /** The events as they were encoded. Their texts are joined when the batch is sent. */
  readonly members: ReadonlyArray<EventPayload<A>>
  /** UTF-8 bytes of the body as it is sent, frame included. */
  readonly byteLength: number
  readonly frame: F
  readonly closedBy: ClosedBy
  /** As of an event. It covers the whole body, so a signed batch cannot be divided. */
  readonly signature?: string
  readonly orderKey?: never
  readonly meta?: never
  readonly text?: never
  readonly contentType?: never
  readonly encoding?: never
}

/** Many items that a sink of your own takes together, in no format of ours. */
export interface ItemBatch<out A> {
  /** The batch's own id. */
  readonly id: string
  /** The items, in their order. */
  readonly items: ReadonlyArray<A>
  /** The sum of their `sizeOf`. */
  readonly byteLength: number
  readonly closedBy: ClosedBy
}

/** Something encoded, ready to be sent as often as needed: one event, or a batch, which has `members`. */
export type Payload<A> = EventPayload<A> | BatchPayload<A>

/** Whether a value of code without types is a payload. */
export const isPayload = (value: unknown): value is Payload<unknown> =>
  isRecord(value) &&
  // Not read: an event that waits is parsed from its text at each look.
  'items' in value &&
  typeof value['byteLength'] === 'number' &&
  (typeof value['text'] === 'string' || Array.isArray(value['members']))

/** The texts that `sign` signed. Enumerable: a spread copies it, and JSON leaves it out. */
const SIGNED: unique symbol = Symbol('headrace.signed')

type Marked = Readonly<Record<typeof SIGNED, ReadonlyArray<string>>>

const isMarked = <P extends Payload<unknown>>(payload: P): payload is P & Marked => SIGNED in payload

/** The texts of the body, in order. */
const textsOf = ({ text, members, frame }: Payload<unknown>): ReadonlyArray<string> =>
  members === undefined ? [text] : [frame.prefix, frame.suffix, ...members.map((each) => each.text)]

/** The payload with its signature, and with the mark by which a later change is seen. */
export const withSignature = <P extends Payload<unknown>>(payload: P, signature: string) => {
  const texts = textsOf(payload)
  // The mark stands first: a key behind a spread takes a microsecond.
  const signed = { [SIGNED]: texts, ...payload, signature }
  // The payload may have been signed before.
  signed[SIGNED] = texts
  return signed
}

/** Whether the body was changed after `sign`. False for one stored as JSON: it has no mark. */
export const isChangedAfterSign = (payload: Payload<unknown>): boolean => {
  if (!isMarked(payload)) return false
  const texts = textsOf(payload)
  const signed = payload[SIGNED]
  return texts.length !== signed.length || texts.some((text, at) => text !== signed[at])
}

/** V8's memory of a waiting event beside its text: payload, entry and places in the queues (measured). */
const HELD_BESIDE_TEXT = 256

const TWO_BYTE_CHARACTER = /[^\u0000-\u00ff]/

/** The memory of an event that waits as text: V8 needs two bytes a character if one is above U+00FF. */
export const heldBytes = (payload: EventPayload<unknown>): number => {
  const { text, byteLength } = payload
  const isWide = byteLength > text.length && TWO_BYTE_CHARACTER.test(text)
  return metaBytes(payload) + HELD_BESIDE_TEXT + (isWide ? 2 * text.length : byteLength)
}

/** The most memory of an event of at most `limit` bytes. */
export const maxHeldBytes = (limit: number): number => HELD_BESIDE_TEXT + 2 * limit

/** Whether a value is a batch, of payloads or of any items. */
export const isBatch = (value: unknown): value is BatchPayload<unknown> | ItemBatch<unknown> =>
  isRecord(value) && Array.isArray(value['items']) && typeof value['closedBy'] === 'string'

/**
 * The body to send at `now` (milliseconds since 1970), as text. The body of a single event never changes.
 *
 * @throws TypeError for a body that is no text, as of `encode({ toBytes })`: use `bytesOf`.
 */
export const bodyOf = (payload: Payload<unknown>, now: number): string => {
  if (payload.encoding !== undefined) throw new TypeError('bodyOf: the body is no text: use bytesOf')
  if (payload.members === undefined) return payload.text
  const { frame, members } = payload
  return frame.prefix + members.map(({ text }) => text).join() + frameEnd(frame, now)
}

const COMMA_BYTE = 0x2c

/**
 * Writes each text to its place in one buffer of the known size: nothing is joined and nothing copied twice.
 * Undefined if a text does not have the bytes of its payload.
 */
const written = ({ byteLength, frame, members }: BatchPayload<unknown>, now: number): Buffer | undefined => {
  const suffix = frameEnd(frame, now)
  const end = byteLength - Buffer.byteLength(suffix)
  const bytes = Buffer.allocUnsafe(byteLength)
  let at = bytes.write(frame.prefix)
  if (at < frame.prefix.length) return undefined
  for (const [index, { text, byteLength: size }] of members.entries()) {
    if (index > 0) bytes[at++] = COMMA_BYTE
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
 * The bytes of the body to send at `now` (milliseconds since 1970), of any format.
 *
 * @example
 * import { bytesOf } from 'headrace'
 * const payload = { id: 'm1', items: ['any item'], text: '{"hello":"wörld"}', byteLength: 18 } as const
 * console.log(bytesOf(payload, Date.now()).length) // => 18
 */
export const bytesOf = (payload: Payload<unknown>, now: number): Uint8Array =>
  payload.members === undefined
    ? Buffer.from(payload.text, payload.encoding)
    : (written(payload, now) ?? Buffer.from(bodyOf(payload, now)))

const bodyText = (body: unknown): string | undefined => {
  try {
    // Its type says string, but it answers undefined for undefined, functions and symbols.
    return JSON.stringify(body)
  } catch {
    return undefined
  }
}

type Written<A> = Either<Refusal, EventPayload<A>>

/** Writes a body that holds only JSON, such as that of an event. Otherwise as `encodePayload`. */
export const writePayload = <A>(id: string, item: A, body: unknown, limit: number): Written<A> => {
  const text = bodyText(body)
  if (text === undefined) return left(invalid(item, [{ path: '', message: 'could not be written as JSON' }]))
  // Counting the bytes first flattens the rope that JSON.stringify made, so that a character is read at once.
  const byteLength = Buffer.byteLength(text)
  const start = text.at(0)
  if (start !== '{' && start !== '[')
    return left(invalid(item, [{ path: '', message: 'the body must be an object or an array' }]))
  if (byteLength > limit) return left(tooLarge(item, limit, byteLength, id))
  return right({ id, items: [item], text, byteLength })
}

const ENCODED = [{ path: '', message: 'is a payload already: encode once, and before batch' }]

/**
 * Writes a body once, as `JSON.stringify` does, and measures it once. Answers `Invalid` with the path of each
 * fault for a value that JSON would bend (`Map`, `Set`, a promise, binary data, NaN, an invalid Date, an
 * object of a class without fields, a key `__proto__`, more than 256 levels), for a payload, and for a body
 * that is no object and no array, which many receivers refuse; and `TooLarge` when it has more than `limit`
 * bytes of UTF-8. Never throws.
 *
 * @param limit bytes; default 64,000
 *
 * @example
 * import { encodePayload } from 'headrace/events'
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
  if (valueOr(false, () => isPayload(body))) return left(invalid(item, ENCODED))
  if (isJson(body)) return writePayload(id, item, body, limit)
  // A body within the limit has fewer values than bytes.
  const copying = newCopying(0, Math.max(Limits.values, limit))
  const json = copyJson(copying, body)
  if (copying.findings.length > 0) return left(invalid(item, toFaults(copying.findings)))
  return writePayload(id, item, json, limit)
}

/** A payload of another format than JSON. */
export const encodeBytes = <A>(
  id: string,
  item: A,
  body: Uint8Array | string,
  contentType: string,
  limit: number,
): Either<Refusal, EventPayload<A>> => {
  const byteLength = Buffer.byteLength(body)
  if (byteLength > limit) return left(tooLarge(item, limit, byteLength, id))
  const payload = { id, items: [item] as const, byteLength, contentType }
  return typeof body === 'string'
    ? right({ ...payload, text: body })
    : right({ ...payload, text: Buffer.from(body).toString('base64'), encoding: 'base64' })
}
