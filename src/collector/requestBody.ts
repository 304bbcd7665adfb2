/** A request body: decompressed, parsed, and taken apart into messages. */
import { gunzip } from 'node:zlib'
import { left, right, type Either } from '../core/either.ts'
import { isRecord, jsonFault, type Fields } from '../core/json.ts'
import { copyJson, newCopying, toFaults, type Json } from '../event/json.ts'
import type { IncomingHeaders } from '../destination/settings.ts'
import type { Kind } from '../event/model.ts'
import { reject, tooLong, type Answer } from './answers.ts'

/** The meaning of a path: a batch, or one message of a kind. */
export type Endpoint = 'batch' | Kind

/** The messages of one request, and their shared fields. */
export interface IncomingBatch {
  readonly messages: ReadonlyArray<unknown>
  /** Their kind, if the path says it. */
  readonly type: Kind | undefined
  /** Of the batch. The message's own keys win. */
  readonly context: Fields | undefined
  readonly integrations: Fields | undefined
  /** Whether they come from `JSON.parse`, and need not be copied. */
  readonly owned: boolean
  /** Of the request. None for messages from code. */
  readonly headers?: IncomingHeaders
  /** Bytes of the text in which they came. NaN: not known. */
  readonly size: number
}

/** One message. By default it comes from code. */
export const batchOfOne = (message: unknown, type?: Kind, owned = false, size = NaN): IncomingBatch => {
  return { messages: [message], type, context: undefined, integrations: undefined, owned, size }
}

/** Bytes of the shortest valid message, with a comma: `{"type":"page","userId":"u"}`. */
const SHORTEST = 29

/** Keeps an answer that names each message below the 1,000,000 bytes that senders read. */
const MAX_MESSAGES = 40_000

/** The bytes that a batch's own fields may add to its messages, as a multiple of the bytes of a body. */
const MAX_ADDED = 8

const jsonBytes = (it: Json | undefined) => (it === undefined ? 0 : Buffer.byteLength(JSON.stringify(it)))

const field = (body: Fields, key: string): unknown =>
  Object.hasOwn(body, key) && body[key] !== null ? body[key] : undefined

/** The write key in a body: the second way to authenticate. */
export const writeKeyOf = (body: unknown): unknown => (isRecord(body) ? field(body, 'writeKey') : undefined)

/** Log events and refusals hold the message, and must not hold its write key. */
const withoutKey = (message: unknown): unknown => {
  if (!isRecord(message) || !Object.hasOwn(message, 'writeKey')) return message
  const { writeKey: _, ...rest } = message
  return rest
}

/** The messages of a body without the write key, or the answer if it has none. `maxBatchBytes`: its bytes. */
export const readBatch = (
  endpoint: Endpoint,
  body: unknown,
  owned: boolean,
  size: number,
  maxBatchBytes: number,
): Either<Answer, IncomingBatch> => {
  const isBatch = endpoint === 'batch'
  const wrong = (reason: string): Either<Answer, never> => left(reject(400, reason))
  const tooMuch = (what: string): Either<Answer, never> => left(reject(413, `${what}: send fewer at a time`))
  if (!isRecord(body)) return wrong(`the body must be an object${isBatch ? ' with a batch' : ''}`)
  if (!isBatch) return right(batchOfOne(withoutKey(body), endpoint, owned, size))
  const batch = field(body, 'batch')
  const copying = newCopying(2)
  const context = copyJson(copying, field(body, 'context'), 'context')
  const integrations = copyJson(copying, field(body, 'integrations'), 'integrations')
  const [fault] = toFaults(copying.findings)
  const maxMessages = Math.min(MAX_MESSAGES, Math.ceil(maxBatchBytes / SHORTEST))
  if (!Array.isArray(batch)) return wrong('the body must have a batch: an array of messages')
  if (batch.length === 0) return wrong('the batch is empty')
  if (batch.length > maxMessages) return tooMuch(`the batch has more than ${String(maxMessages)} messages`)
  if (context !== undefined && !isRecord(context)) return wrong("the batch's context must be an object")
  if (integrations !== undefined && !isRecord(integrations))
    return wrong("the batch's integrations must be an object")
  if (fault !== undefined) return wrong(`the batch's ${fault.path} ${fault.message}`)
  if ((jsonBytes(context) + jsonBytes(integrations)) * batch.length > MAX_ADDED * maxBatchBytes)
    return tooMuch("the batch's context and integrations are too large for this number of messages")
  return right({ messages: batch.map(withoutKey), type: undefined, context, integrations, owned, size })
}

/** Characters of a text whose fault is looked for: it takes 15 times as long as `JSON.parse`. */
const MAX_EXPLAINED = 32_768

/** It leaves out a byte order mark. */
const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** The value of a JSON text in UTF-8. A fault is named by its place; the text is not quoted. */
export const parseBody = (bytes: Uint8Array): Either<Answer, unknown> => {
  let text: string | undefined
  try {
    text = UTF8.decode(bytes)
    return right(JSON.parse(text) as unknown)
  } catch {
    if (text === undefined) return left(reject(400, 'the body is not UTF-8'))
    const fault = text.length > MAX_EXPLAINED ? undefined : jsonFault(text)
    const where = fault === undefined ? '' : ` at character ${String(fault + 1)}`
    return left(reject(400, `the body is not JSON${where}`))
  }
}

export const decompress = (bytes: Uint8Array, limit: number): Promise<Either<Answer, Uint8Array>> =>
  new Promise((resolve) =>
    gunzip(bytes, { maxOutputLength: limit }, (error, whole) => {
      if (error === null) resolve(right(whole))
      else if ('code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') resolve(left(tooLong(limit)))
      else resolve(left(reject(400, 'the body says that it is gzip, and is not, or not whole')))
    }),
  )
