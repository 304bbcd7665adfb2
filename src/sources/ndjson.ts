/**
 * One line of NDJSON: a value, or why it is none.
 *
 * @module
 */

import * as E from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { jsonFault, wholeNumber } from '../core/json.ts'
import { lineSplitter } from './lines.ts'
import type { TextLine } from './lines.ts'

/** A line that holds a value. */
export interface Line {
  /** 1 for the first line of the input; empty lines count. */
  readonly line: number
  readonly value: unknown
  /** The line as it was written. */
  readonly text: string
}

/** A line that is lost, without harm to the others. It never says what stands in the line, for that is somebody's data. */
export interface BadLine {
  readonly _tag: 'BadLine'
  /** 1 for the first line of the input; empty lines count. */
  readonly line: number
  readonly reason: 'notJson' | 'notUtf8' | 'tooLong'
  /** For people: what would be right. */
  readonly detail: string
  /** Where in the line it stops being JSON, in UTF-16 units; 1 is the first. */
  readonly character?: number
}

/** It is longer than is allowed. */
export const tooLong = (line: number, maxBytes: number): BadLine => ({
  _tag: 'BadLine',
  line,
  reason: 'tooLong',
  detail: `longer than ${String(maxBytes)} bytes`,
})

/** Its bytes are no UTF-8. */
export const notUtf8 = (line: number): BadLine => ({
  _tag: 'BadLine',
  line,
  reason: 'notUtf8',
  detail: 'not UTF-8: save the file in that encoding',
})

/** It is no JSON from this character on. */
export const notJson = (line: number, character: number, expected: string): BadLine => ({
  _tag: 'BadLine',
  line,
  reason: 'notJson',
  detail: `not JSON: expected ${expected} at character ${String(character)}`,
  character,
})

/** One line for people: `line 3: not JSON: expected a colon at character 17`. */
export const show = (bad: BadLine): string => `line ${String(bad.line)}: ${bad.detail}`

/** What a line may be. */
export interface NdjsonOptions {
  /** The longest line, in bytes without its line break. A longer one is passed over and not kept in memory. Default 1,048,576. */
  readonly maxLineBytes?: number
}

const parse = ({ line, text }: TextLine): Either<BadLine, Line> => {
  try {
    return E.right({ line, value: JSON.parse(text) as unknown, text })
  } catch {
    const fault = jsonFault(text) ?? { at: 0, expected: 'a value' }
    return E.left(notJson(line, fault.at + 1, fault.expected))
  }
}

const parsed = E.chain(parse)

const read = async function* (
  readable: AsyncIterable<Uint8Array | string>,
  maxLineBytes: number,
): AsyncIterable<Either<BadLine, Line>> {
  const splitter = lineSplitter(maxLineBytes)
  for await (const chunk of readable) {
    for (const line of splitter.push(chunk)) yield parsed(line)
  }
  for (const line of splitter.end()) yield parsed(line)
}

/**
 * Reads NDJSON, one JSON value a line, from anything that gives chunks: a file, stdin, a response. A bad line costs that line only:
 * it comes out on the left with its number and where it stops being JSON, never with its content. `\r\n`, a byte order mark,
 * empty lines and a missing last line break are all right. It reads on only when asked to, so `pull(ndjson(file), …)`
 * holds one chunk, whatever the size of the file.
 *
 * If the readable fails, so does the iteration, after all whole lines; what came after the last line break is not taken for a line.
 *
 * @throws RangeError if `maxLineBytes` is not a whole number of at least 1.
 *
 * @example
 * import { ndjson } from 'headrace/sources/ndjson'
 * import { Readable } from 'node:stream'
 *
 * const input = Readable.from(['{"type":"track"}\n', 'oops\n'])
 * for await (const line of ndjson(input)) console.log(line._tag)
 * // => Right
 * // => Left
 */
export const ndjson = (
  readable: AsyncIterable<Uint8Array | string>,
  options: NdjsonOptions = {},
): AsyncIterable<Either<BadLine, Line>> =>
  read(readable, wholeNumber('maxLineBytes', 'bytes', 1, options.maxLineBytes ?? 1_048_576))
