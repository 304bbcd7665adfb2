import { isUtf8 } from 'node:buffer'
import { gunzip } from 'node:zlib'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Awaitable } from '../../internal/Awaitable.ts'
import { jsonFault } from '../../internal/jsonFault.ts'
import { no, tooLong } from './Exchange.ts'
import type { Answer } from './Exchange.ts'

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
