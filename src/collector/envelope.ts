import { isUtf8 } from 'node:buffer'
import { gunzip } from 'node:zlib'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Awaitable } from '../core/awaitable.ts'
import { isRecord, jsonFault } from '../core/json.ts'
import type { Fields } from '../core/json.ts'
import { no, tooLong } from './answers.ts'
import type { Answer } from './answers.ts'
import type { Defaults } from './ingest.ts'
import type { Way } from './requestHandler.ts'

/** A body, taken apart. */
export interface Envelope {
  readonly messages: ReadonlyArray<unknown>
  /** What the envelope says for each of its messages. */
  readonly defaults: Defaults
}

const notAnObject = (way: Way): Answer =>
  no(400, way._tag === 'Batch' ? 'the body must be an object with a batch' : 'the body must be an object')

const noBatch: Answer = no(400, 'the body must have a batch: an array of messages')
const emptyBatch: Answer = no(400, 'the batch is empty')

/** More messages than can be right in so many bytes: the shortest is `{"type":"page","userId":"u"}` and a comma. */
const SHORTEST = 29

/** However long a body may be: an answer that names each of them has less than 1,000,000 bytes, which is what senders read. */
const MOST = 40_000

const tooMany = (most: number): Answer =>
  no(413, `the batch has more than ${String(most)} messages: send fewer at a time`)

const member = (body: Fields, key: string): unknown =>
  Object.hasOwn(body, key) && body[key] !== null ? body[key] : undefined

const defaultsOf = (body: Fields): Either<Answer, Defaults> => {
  const context = member(body, 'context')
  const integrations = member(body, 'integrations')
  if (context !== undefined && !isRecord(context))
    return left(no(400, "the batch's context must be an object"))
  if (integrations !== undefined && !isRecord(integrations))
    return left(no(400, "the batch's integrations must be an object"))
  return right({ context, integrations })
}

/** The write key that a body brings: the second way to say who sends (CO4). */
export const writeKeyOf = (body: unknown): string | undefined => {
  const key = isRecord(body) ? member(body, 'writeKey') : undefined
  return typeof key === 'string' ? key : undefined
}

/** It is no part of a message, and whoever is told of one must not see it. */
const withoutKey = (message: unknown): unknown => {
  if (!isRecord(message) || !Object.hasOwn(message, 'writeKey')) return message
  return Object.fromEntries(Object.entries(message).filter(([name]) => name !== 'writeKey'))
}

/** The messages of a body, without the write key, or why it has none. `limit` is what a body may have in bytes. */
export const envelopeOf = (way: Way, body: unknown, limit: number): Either<Answer, Envelope> => {
  if (!isRecord(body)) return left(notAnObject(way))
  if (way._tag !== 'Batch') {
    const type = way._tag === 'Delete' ? 'delete' : way.type
    return right({ messages: [withoutKey(body)], defaults: { type } })
  }
  const batch = member(body, 'batch')
  if (!Array.isArray(batch)) return left(noBatch)
  if (batch.length === 0) return left(emptyBatch)
  const most = Math.min(MOST, Math.ceil(limit / SHORTEST))
  if (batch.length > most) return left(tooMany(most))
  const defaults = defaultsOf(body)
  return defaults._tag === 'Left'
    ? defaults
    : right({ messages: batch.map(withoutKey), defaults: defaults.right })
}

/** A body as data, and how many bytes its text had. */
export interface Unpacked {
  readonly value: unknown
  readonly size: number
}

const notGzip: Answer = no(400, 'the body says that it is gzip, and is not, or not whole')
const notUtf8: Answer = no(400, 'the body is not UTF-8')

const whyNot = (text: string): Answer => {
  const fault = jsonFault(text)
  return no(
    400,
    fault === undefined
      ? 'the body is not JSON'
      : `the body is not JSON: at character ${String(fault.at)} it should have ${fault.expected}`,
  )
}

/** RFC 8259 lets a reader pass over it, and some senders write it. */
const BYTE_ORDER_MARK = '\u{feff}'

/** A text as data, with or without a byte order mark; one that is not JSON is named by its place, and never quoted. */
export const parsed = (given: string, size: number): Either<Answer, Unpacked> => {
  const text = given.startsWith(BYTE_ORDER_MARK) ? given.slice(1) : given
  try {
    return right({ value: JSON.parse(text) as unknown, size })
  } catch {
    return left(whyNot(text))
  }
}

const read = (bytes: Uint8Array): Either<Answer, Unpacked> => {
  if (!isUtf8(bytes)) return left(notUtf8)
  const { buffer, byteOffset, byteLength } = bytes
  return parsed(Buffer.from(buffer, byteOffset, byteLength).toString('utf8'), byteLength)
}

/** Decompresses until there is more than `limit` bytes: a bomb costs no more than that. */
const inflated = (bytes: Uint8Array, limit: number): Promise<Either<Answer, Uint8Array>> =>
  new Promise((resolve) => {
    gunzip(bytes, { maxOutputLength: limit }, (error, whole) => {
      if (error === null) resolve(right(whole))
      else resolve(left('code' in error && error.code === 'ERR_BUFFER_TOO_LARGE' ? tooLong(limit) : notGzip))
    })
  })

/** What a body says, or why it cannot be read. Here at once unless it is compressed. */
export const unpack = (
  bytes: Uint8Array,
  gzip: boolean,
  limit: number,
): Awaitable<Either<Answer, Unpacked>> =>
  gzip
    ? inflated(bytes, limit).then((whole) => (whole._tag === 'Left' ? whole : read(whole.right)))
    : read(bytes)
