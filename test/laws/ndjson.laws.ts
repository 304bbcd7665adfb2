import { Buffer } from 'node:buffer'
import type { Either } from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe } from 'vitest'
import { ndjsonLines, type BadLine, type Line } from '../../src/sources/ndjson.ts'
import { holds, itKeeps, law, same, type Drawn, type Law } from '../support/check.ts'

export type Chunk = Uint8Array | string
type Lines = AsyncIterable<Either<BadLine, Line>>
export type ReadNdjson = (readable: AsyncIterable<Chunk>, options: { readonly maxBytes: number }) => Lines

/** In every bad line: a message that quotes the line has it too. */
const SECRET = 'zqSECRETqz'

const text = fc.oneof(
  fc.string({ maxLength: 12, unit: 'grapheme' }),
  fc.constantFrom('', '\ud83d\ude00', 'é', '\ufeff', '\u2028', '\r\n', '\u0000', '中文', '\udbff\udfff'),
)
const properties = fc.dictionary(text, text, { maxKeys: 3 })
const call = fc.record({ type: fc.constant('track'), event: text, properties })
const value = fc.oneof(call, text, fc.jsonValue({ maxDepth: 2 }))
const lineBreak = fc.constantFrom('\n', '\r\n', '\n\n', '\r\n \t\r\n', '\n\r\n')

/** A file of good lines, as it is written, and how it is cut. */
const file = fc.record({
  values: fc.array(value, { maxLength: 8 }),
  /** After each line: its line break, and empty lines. */
  breaks: fc.array(lineBreak, { minLength: 1, maxLength: 4 }),
  bom: fc.boolean(),
  lastBreak: fc.boolean(),
  /** Sizes of the chunks, over and over. */
  cuts: fc.array(fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 60 })), {
    minLength: 1,
    maxLength: 5,
  }),
  /** Whether a chunk is a string, over and over. */
  strings: fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }),
})
type File = Drawn<typeof file>
const filled = file.filter(({ values }) => values.length > 0)

const written = ({ values, breaks, bom, lastBreak }: File, change: (text: string, at: number) => Buffer) => {
  const parts: Buffer[] = bom ? [Buffer.from('\ufeff')] : []
  const lines: Array<{ readonly line: number; readonly value: unknown; readonly text: string }> = []
  let line = 1
  values.forEach((each, i) => {
    const json = JSON.stringify(each)
    const after = i === values.length - 1 && !lastBreak ? '' : (breaks[i % breaks.length] ?? '\n')
    lines.push({ line, value: JSON.parse(json) as unknown, text: json })
    parts.push(change(json, i), Buffer.from(after))
    line += after.split('\n').length - 1
  })
  return { bytes: Buffer.concat(parts), lines }
}

const asIs = (json: string): Buffer => Buffer.from(json)

/** Cuts the bytes, or the text of them, into chunks; a string is cut between UTF-16 units. */
const chunksOf = async function* (bytes: Buffer, file: File, mayBeText: boolean): AsyncIterable<Chunk> {
  const { cuts, strings } = file
  const allText = mayBeText && (strings[0] ?? false)
  const whole = bytes.toString('utf8')
  const length = allText ? whole.length : bytes.length
  let from = 0
  for (let i = 0; from < length; i++) {
    const to = from + (cuts[i % cuts.length] ?? 1)
    if (allText) yield whole.slice(from, to)
    // A copy that is wiped afterwards, as a reader that uses its buffer again would do.
    else {
      const chunk = Uint8Array.from(bytes.subarray(from, to))
      const ascii = chunk.every((byte) => byte < 0x80)
      const isText = mayBeText && ascii && (strings[i % strings.length] ?? false)
      yield isText ? Buffer.from(chunk).toString('latin1') : chunk
      chunk.fill(0x58)
    }
    from = to
  }
}

const readAll = async (read: ReadNdjson, chunks: AsyncIterable<Chunk>, maxBytes = 10_000) => {
  const all: Array<Either<BadLine, Line>> = []
  for await (const line of read(chunks, { maxBytes })) all.push(line)
  return all
}

const LIMIT = 2_000
const good = JSON.stringify({ secret: SECRET })
const bytes = (...parts: ReadonlyArray<number>): string => Buffer.from(parts).toString('latin1')

/** Lines that are never a line of JSON, in bytes: each character is one. */
const badLines = fc.constantFrom(
  ...[good.slice(0, -1), `{"a":${SECRET}}`, `{"a":"${SECRET}\u0000"}`, `"${SECRET}${bytes(0xc0, 0x80)}"`],
  ...[`"${SECRET}${bytes(0xf0, 0x9f)}`, `"${SECRET.repeat(LIMIT / 10)}"`, `${good}{"${SECRET}":1}`],
  '['.repeat(LIMIT),
)

const right = (line: Line): unknown => ({ _tag: 'Right', right: line })

export const ndjsonLaws = (read: ReadNdjson): ReadonlyArray<Law> => [
  law('N1 good lines give their values, however the file is cut into chunks', file, async (asked) => {
    const { bytes, lines } = written(asked, asIs)
    same(await readAll(read, chunksOf(bytes, asked, true)), lines.map(right))
  }),
  law(
    'N2 a bad line comes out at its place with its number and without its content, and changes no other line',
    fc.tuple(filled, fc.nat(), badLines),
    async ([asked, where, line]) => {
      const index = where % asked.values.length
      const wrong = Buffer.from(line, 'latin1')
      const { bytes, lines } = written(asked, (json, i) => (i === index ? wrong : asIs(json)))
      const all = await readAll(read, chunksOf(bytes, asked, false), LIMIT)
      const bad = all[index]
      holds(bad?._tag === 'Left' && bad.left.line === lines[index]?.line, 'the bad line is not on the left')
      holds(!JSON.stringify(bad).includes(SECRET.slice(2, 6)), `it says ${JSON.stringify(bad)}`)
      const expected = lines.map((each, i) => (i === index ? bad : right(each)))
      same(all, expected)
    },
  ),
  law(
    'N3 a line may have as many bytes as the limit, with any line break, and not one more',
    fc.tuple(file, fc.integer({ min: 8, max: 200 })),
    async ([asked, limit]) => {
      const values = [limit, limit + 1, limit, limit + 5, limit - 1].map((length) => 'x'.repeat(length - 2))
      const { bytes } = written({ ...asked, values }, asIs)
      const all = await readAll(read, chunksOf(bytes, asked, true), limit)
      same(
        all.map((line) => (line._tag === 'Left' ? line.left.reason : 'taken')),
        ['taken', 'tooLong', 'taken', 'tooLong', 'taken'],
      )
    },
  ),
]

describe('ndjson', () => itKeeps(ndjsonLaws(ndjsonLines)))
