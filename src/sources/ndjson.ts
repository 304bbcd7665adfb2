import * as E from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { jsonFault } from '../internal/jsonFault.ts'
import { wholeNumber } from '../internal/wholeNumber.ts'
import { notJson } from './Line.ts'
import type { BadLine, Line } from './Line.ts'
import { lineSplitter } from './lineSplitter.ts'
import type { TextLine } from './lineSplitter.ts'

export type { BadLine, Line } from './Line.ts'

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
