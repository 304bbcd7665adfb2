import * as E from 'fp-ts/lib/Either.js'
import { Buffer, isUtf8 } from 'node:buffer'
import type { Either } from 'fp-ts/lib/Either.js'
import { notUtf8, tooLong } from './ndjson.ts'
import type { BadLine, Line } from './ndjson.ts'

/** A line before it is parsed. */
export type TextLine = Omit<Line, 'value'>

/** Cuts chunks into lines, however the chunks are cut. */
export interface LineSplitter {
  /** The lines that end in this chunk. They must be taken before the next call. */
  readonly push: (chunk: Uint8Array | string) => Iterable<Either<BadLine, TextLine>>
  /** The last line, if the input does not end in a line break. */
  readonly end: () => Iterable<Either<BadLine, TextLine>>
}

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const BOM = Buffer.from([0xef, 0xbb, 0xbf])
/** A byte that is nowhere in UTF-8: it stands for half of a surrogate pair, which UTF-8 cannot write. */
const NO_UTF8 = Buffer.from([0xff])
/** What a line may have beyond its limit before it is sure to be too long: a byte order mark and a carriage return. */
const SLACK = 4
const BLANK = /^[ \t\r]*$/
const LONE_SURROGATE = /(\p{Surrogate})/u
const ENDS_IN_HALF_A_PAIR = /[\ud800-\udbff]$/

/** `Buffer.from` would write U+FFFD for a lone surrogate, and a changed text is worse than a refused one. */
const encode = (text: string): Buffer =>
  LONE_SURROGATE.test(text)
    ? Buffer.concat(
        text.split(LONE_SURROGATE).map((part) => (LONE_SURROGATE.test(part) ? NO_UTF8 : Buffer.from(part))),
      )
    : Buffer.from(text)

/** Turns chunks into bytes; a surrogate pair may be cut in two by the chunks. */
const encoder = (): {
  readonly next: (chunk: Uint8Array | string) => Buffer
  readonly rest: () => Buffer
} => {
  let half = ''
  return {
    next: (chunk) => {
      const before = half
      half = ''
      if (typeof chunk !== 'string') {
        const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
        return before === '' ? bytes : Buffer.concat([NO_UTF8, bytes])
      }
      const text = before + chunk
      if (!ENDS_IN_HALF_A_PAIR.test(text)) return encode(text)
      half = text.slice(-1)
      return encode(text.slice(0, -1))
    },
    rest: () => (half === '' ? Buffer.alloc(0) : NO_UTF8),
  }
}

/** The beginning of a line whose end has not come. Copied, for who reads may use its chunk again. */
interface Held {
  readonly add: (part: Buffer) => void
  /** The held part and `last` together, and nothing held any more; undefined if that is more than is kept. */
  readonly takeWith: (last: Buffer) => Buffer | undefined
  readonly isEmpty: () => boolean
}

const heldUpTo = (most: number): Held => {
  let bytes = Buffer.allocUnsafe(Math.min(most, 4096))
  let length = 0
  return {
    add: (part) => {
      const needed = length + part.length
      if (needed <= most) {
        if (needed > bytes.length) {
          const larger = Buffer.allocUnsafe(Math.min(most, Math.max(needed, bytes.length * 2)))
          bytes.copy(larger, 0, 0, length)
          bytes = larger
        }
        part.copy(bytes, length)
      }
      length = needed
    },
    takeWith: (last) => {
      const before = length
      length = 0
      if (before + last.length > most) return undefined
      return before === 0 ? last : Buffer.concat([bytes.subarray(0, before), last])
    },
    isEmpty: () => length === 0,
  }
}

/**
 * Cuts input into lines at `\n`; a `\r` before it and a byte order mark at the very beginning belong to no line. Lines
 * with nothing but blanks are left out and counted. Never holds more than one line of `maxBytes`, the rest of a longer one is
 * passed over.
 */
export const lineSplitter = (maxBytes: number): LineSplitter => {
  const bytesOf = encoder()
  const held = heldUpTo(maxBytes + SLACK)
  let number = 0

  const withoutEnds = (bytes: Buffer): Buffer => {
    const start = number === 1 && bytes.subarray(0, BOM.length).equals(BOM) ? BOM.length : 0
    const end = bytes.at(-1) === CARRIAGE_RETURN ? bytes.length - 1 : bytes.length
    return bytes.subarray(start, end)
  }

  const finish = (last: Buffer): Either<BadLine, TextLine> | undefined => {
    number++
    const whole = held.takeWith(last)
    const bytes = whole === undefined ? undefined : withoutEnds(whole)
    if (bytes === undefined || bytes.length > maxBytes) return E.left(tooLong(number, maxBytes))
    if (!isUtf8(bytes)) return E.left(notUtf8(number))
    const text = bytes.toString('utf8')
    return BLANK.test(text) ? undefined : E.right({ line: number, text })
  }

  const split = function* (bytes: Buffer): Iterable<Either<BadLine, TextLine>> {
    let from = 0
    for (let to = bytes.indexOf(LINE_FEED); to !== -1; to = bytes.indexOf(LINE_FEED, from)) {
      const line = finish(bytes.subarray(from, to))
      from = to + 1
      if (line !== undefined) yield line
    }
    held.add(bytes.subarray(from))
  }

  return {
    push: (chunk) => split(bytesOf.next(chunk)),
    end: () => {
      held.add(bytesOf.rest())
      const line = held.isEmpty() ? undefined : finish(Buffer.alloc(0))
      return line === undefined ? [] : [line]
    },
  }
}
