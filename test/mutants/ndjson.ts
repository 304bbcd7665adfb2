/** A plain reader of NDJSON that holds the whole input, and what could be wrong with one. */
import { Buffer, isUtf8 } from 'node:buffer'
import * as E from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { jsonFault } from '../../src/core/json.ts'
import { notJson, notUtf8, tooLong } from '../../src/sources/ndjson.ts'
import type { BadLine, Line } from '../../src/sources/ndjson.ts'
import type { Chunk, ReadNdjson } from '../laws/ndjson.ts'

export const ndjsonBugs = {
  decodesChunks: ['N1', 'decoded each chunk by itself'],
  countsFull: ['N1', 'counted only lines that hold something'],
  needsABreak: ['N1', 'lost a last line without a line break'],
  keepsReturns: ['N1', 'left the carriage return in the text'],
  keepsTheMark: ['N1', 'did not take the byte order mark off'],
  quotes: ['N3', 'said what JSON.parse says'],
  stops: ['N2', 'ended at the first bad line'],
  mends: ['N2', 'put U+FFFD for what is not UTF-8'],
  offByOne: ['N4', 'took a line of one byte more than the limit'],
  countsReturns: ['N4', 'counted the carriage return for the limit'],
  skipsBad: ['N2', 'left bad lines out'],
  trusts: ['N1', 'kept the chunks that it was given without a copy'],
} as const

export type NdjsonBug = keyof typeof ndjsonBugs

const bytesOf = async (readable: AsyncIterable<Chunk>, bug: NdjsonBug | undefined): Promise<Buffer> => {
  const parts: Buffer[] = []
  let text = ''
  for await (const chunk of readable) {
    if (typeof chunk === 'string' && bug !== 'decodesChunks') {
      text += chunk
      continue
    }
    const bytes = Buffer.from(chunk)
    const kept = bug === 'decodesChunks' ? Buffer.from(bytes.toString('utf8')) : bytes
    parts.push(
      Buffer.from(text),
      bug === 'trusts' && typeof chunk !== 'string' ? Buffer.from(chunk.buffer) : kept,
    )
    text = ''
  }
  return Buffer.concat([...parts, Buffer.from(text)])
}

const lineOf = (
  bytes: Buffer,
  line: number,
  most: number,
  bug: NdjsonBug | undefined,
): Either<BadLine, Line> | undefined => {
  const isBroken = bytes.at(-1) === 0x0d
  const inner = isBroken && bug !== 'keepsReturns' ? bytes.subarray(0, -1) : bytes
  const counted = bug === 'countsReturns' ? bytes.length : inner.length
  if (counted > (bug === 'offByOne' ? most + 1 : most)) return E.left(tooLong(line, most))
  if (!isUtf8(inner) && bug !== 'mends') return E.left(notUtf8(line))
  const text = inner.toString('utf8')
  if (/^[ \t\r]*$/.test(text)) return undefined
  try {
    return E.right({ line, value: JSON.parse(text) as unknown, text })
  } catch (error) {
    const fault = jsonFault(text)
    return E.left(notJson(line, fault?.at ?? 0, bug === 'quotes' ? String(error) : (fault?.expected ?? '')))
  }
}

export const ndjsonWith = (bug: NdjsonBug | undefined): ReadNdjson =>
  async function* (readable, { maxLineBytes }) {
    const all = await bytesOf(readable, bug)
    const marked = all.subarray(0, 3).equals(Buffer.from('\ufeff')) && bug !== 'keepsTheMark'
    let rest = marked ? all.subarray(3) : all
    let number = 0
    for (;;) {
      const at = rest.indexOf(0x0a)
      if (at === -1 && (rest.length === 0 || bug === 'needsABreak')) return
      const line = lineOf(at === -1 ? rest : rest.subarray(0, at), number + 1, maxLineBytes, bug)
      if (line !== undefined || bug !== 'countsFull') number++
      if (line?._tag === 'Left' && bug === 'stops') return
      if (line !== undefined && !(line._tag === 'Left' && bug === 'skipsBad')) yield line
      if (at === -1) return
      rest = rest.subarray(at + 1)
    }
  }
