/** `headrace/sources/ndjson`: a source of the lines of a file or stream. @module */
import { Buffer, isUtf8 } from 'node:buffer'
import { left, right, type Either } from '../core/either.ts'
import { byteBuffer } from '../core/byteBuffer.ts'
import { jsonFault, kindOf } from '../core/json.ts'
import { checkOptions, strict, wholeNumber, withDefault } from '../core/options.ts'

/** A line that holds a value. */
export interface Line {
  /** 1 for the first line of the input; empty lines count. */
  readonly line: number
  readonly value: unknown
  /** The line as it was written. */
  readonly text: string
}

/** A line that cannot be read. It has no part of the line's content, which is private data. */
export interface BadLine {
  readonly _tag: 'BadLine'
  /** 1 for the first line of the input; empty lines count. */
  readonly line: number
  readonly reason: 'notJson' | 'notUtf8' | 'tooLong'
  /** The correction, for people. */
  readonly detail: string
  /** Where in the line it stops being JSON, in UTF-16 units; 1 is the first. */
  readonly character?: number
}

/** Of a first line that only opens an object or a list. */
const ONE_DOCUMENT = 'looks like one JSON document over several lines, not NDJSON: write a value on each line'

/** The limits of a line. */
export interface NdjsonLineOptions {
  /** The longest line in bytes without its line break; a longer one is skipped unread. Default 1,048,576. */
  readonly maxBytes?: number
}

const ndjsonOptions = strict({ maxBytes: withDefault(wholeNumber('bytes', 1), 1_048_576) })

type Result = Either<BadLine, Line>

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const BOM = Buffer.from([0xef, 0xbb, 0xbf])
/** Never part of valid UTF-8. */
const INVALID = Buffer.from([0xff])
/** Bytes beyond the limit of a line that may not be its own: a byte order mark and a carriage return. */
const SLACK = 4
const BLANK = /^[ \t\r]*$/
const LONE_SURROGATE = /(\p{Surrogate})/u
const FIRST_HALF_OF_A_PAIR = /[\ud800-\udbff]$/

/** `Buffer.from` would write U+FFFD for a lone surrogate. An invalid byte makes the line `notUtf8`. */
const toBytes = (text: string): Buffer =>
  Buffer.concat(text.split(LONE_SURROGATE).map((it) => (LONE_SURROGATE.test(it) ? INVALID : Buffer.from(it))))

const bad = (line: number, reason: BadLine['reason'], detail: string, character?: number): Result =>
  left({ _tag: 'BadLine', line, reason, detail, ...(character !== undefined && { character }) })

const parseLine = (line: number, text: string): Result => {
  try {
    return right({ line, value: JSON.parse(text) as unknown, text })
  } catch {
    const at = jsonFault(text) ?? 0
    const detail = `not JSON at character ${String(at + 1)}`
    const isOpened = line === 1 && /^(\[|\{\s*$)/.test(text)
    return bad(line, 'notJson', isOpened ? `${detail}; ${ONE_DOCUMENT}` : detail, at + 1)
  }
}

const readLines = async function* (readable: AsyncIterable<Uint8Array | string>, maxBytes: number) {
  let number = 0
  /** A surrogate pair may be cut in two by the chunks. */
  let halfPair = ''
  /** The line whose end has not come, and its length: of a line that is too long only the start is held. */
  let held = byteBuffer()
  let length = 0

  const bytesOf = (chunk: Uint8Array | string): Buffer => {
    const before = halfPair
    halfPair = ''
    if (typeof chunk !== 'string') {
      // Bytes of another realm are no `Uint8Array` of this one.
      if (!ArrayBuffer.isView(chunk))
        throw new TypeError(`ndjsonLines: a chunk must be text or bytes, got ${kindOf(chunk)}`)
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      return before === '' ? bytes : Buffer.concat([INVALID, bytes])
    }
    const text = before + chunk
    halfPair = FIRST_HALF_OF_A_PAIR.exec(text)?.[0] ?? ''
    return toBytes(text.slice(0, text.length - halfPair.length))
  }

  const hold = (part: Buffer): void => {
    length += part.length
    // The first part is copied, because the reader may reuse its chunks.
    if (length <= maxBytes + SLACK) held.add(held.size() === 0 ? Buffer.from(part) : part)
  }

  /** The line that ends with `last`; undefined for a blank one. */
  const finish = (last: Buffer): Result | undefined => {
    number++
    const total = length + last.length
    if (length > 0) held.add(last)
    const whole = length === 0 ? last : held.bytes()
    if (length > 0) held = byteBuffer()
    length = 0
    const start = number === 1 && whole.subarray(0, BOM.length).equals(BOM) ? BOM.length : 0
    const bytes = whole.subarray(start, whole.at(-1) === CARRIAGE_RETURN ? -1 : undefined)
    if (total > maxBytes + SLACK || bytes.length > maxBytes)
      return bad(number, 'tooLong', `longer than ${String(maxBytes)} bytes`)
    if (!isUtf8(bytes)) return bad(number, 'notUtf8', 'not UTF-8: save the file in that encoding')
    const text = bytes.toString('utf8')
    return BLANK.test(text) ? undefined : parseLine(number, text)
  }

  for await (const chunk of readable) {
    const bytes = bytesOf(chunk)
    let from = 0
    for (let to = bytes.indexOf(LINE_FEED); to !== -1; to = bytes.indexOf(LINE_FEED, from)) {
      const line = finish(bytes.subarray(from, to))
      from = to + 1
      if (line !== undefined) yield line
    }
    hold(bytes.subarray(from))
  }
  if (halfPair !== '') hold(INVALID)
  const line = length === 0 ? undefined : finish(Buffer.alloc(0))
  if (line !== undefined) yield line
}

/**
 * Reads NDJSON, one JSON value a line, from anything that gives chunks: a file, stdin, a response. A bad
 * line comes out on the left with its number and where it stops being JSON, never with its content, and
 * the lines after it are read. `\r\n`, a byte order mark, empty lines and a missing last line break are
 * allowed. It reads when it is asked for a line: `pull(ndjsonLines(file), …)` holds one chunk.
 *
 * If the readable fails, the iteration fails too, after all whole lines; text after the last line break is
 * then not a line.
 *
 * @throws ConfigError if `maxBytes` is not a whole number of at least 1; TypeError if the readable is not
 * iterable.
 *
 * @example
 * import { ndjsonLines } from 'headrace/sources/ndjson'
 * import { Readable } from 'node:stream'
 *
 * const input = Readable.from(['{"type":"track"}\n', 'oops\n'])
 * for await (const line of ndjsonLines(input)) console.log(line._tag)
 * // => Right
 * // => Left
 */
export const ndjsonLines = (
  readable: AsyncIterable<Uint8Array | string>,
  options: NdjsonLineOptions = {},
): AsyncIterable<Either<BadLine, Line>> => {
  const { maxBytes } = checkOptions('options of ndjson', ndjsonOptions, options)
  const given = Object(readable) as object // Object() answers an object for any value.
  if (!(Symbol.asyncIterator in given || Symbol.iterator in given))
    throw new TypeError(`ndjsonLines: give an iterable, such as response.body, not ${kindOf(readable)}`)
  return readLines(readable, maxBytes)
}
