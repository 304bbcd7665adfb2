import { Buffer } from 'node:buffer'
import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { ndjsonLines } from '../../src/sources/ndjson.ts'
import { sized } from '../support/runs.ts'

type Chunk = Uint8Array | string
type Result = ReturnType<typeof ndjsonLines> extends AsyncIterable<infer R> ? R : never

const readAll = async (chunks: AsyncIterable<Chunk>, maxBytes: number): Promise<ReadonlyArray<Result>> => {
  const all: Result[] = []
  for await (const line of ndjsonLines(chunks, { maxBytes })) all.push(line)
  return all
}

const of = (...all: ReadonlyArray<Chunk>): AsyncIterable<Chunk> => Readable.from(all, { objectMode: true })

const said = async (...chunks: ReadonlyArray<Chunk>): Promise<ReadonlyArray<unknown>> =>
  (await readAll(of(...chunks), 100)).map((line) =>
    line._tag === 'Left' ? `line ${String(line.left.line)}: ${line.left.detail}` : line.right.value,
  )

it('names the fault and its place', async () => {
  const lines = '{"a":1}\n{"a" 1}\n\n[1,]\ntrue\n'
  expect(await said(lines, Buffer.from([0xff, 0x0a]), '"', 'x'.repeat(100))).toEqual([
    ...[{ a: 1 }, 'line 2: not JSON at character 6', 'line 4: not JSON at character 4', true],
    ...['line 6: not UTF-8: save the file in that encoding', 'line 7: longer than 100 bytes'],
  ])
})

it.each([[[]], [['']], [['\ufeff']], [['\n\r\n \n']]])('gives no lines for %j', async (chunks) =>
  expect(await said(...chunks)).toEqual([]),
)

const notUtf8 = (line: number): string => `line ${String(line)}: not UTF-8: save the file in that encoding`
it.each<[string, ReadonlyArray<Chunk>, ReadonlyArray<unknown>]>([
  ['joins a surrogate pair that is cut', ['"\ud83d', '\ude00"\n'], ['\u{1f600}']],
  ['refuses the first half alone', ['"\ud83d', '"\n1'], [notUtf8(1), 1]],
  ['refuses the second half alone', ['"\ude00"\n1'], [notUtf8(1), 1]],
  ['refuses half a pair at the end', ['1\n"\ud83d'], [1, notUtf8(2)]],
  ['refuses half a pair before bytes', ['"\ud83d', Buffer.from('"\n1')], [notUtf8(1), 1]],
  ['keeps a later byte order mark', ['\n\ufeff1\n"\ufeff"'], ['line 2: not JSON at character 1', '\ufeff']],
])('%s', async (_, chunks, lines) => expect(await said(...chunks)).toEqual(lines))

it('skips a line of gigabytes without holding it', async () => {
  const chunk = Buffer.alloc(64 * 1024, 0x78)
  const huge = async function* (): AsyncIterable<Chunk> {
    yield '1\n'
    for (let i = 0; i < sized({ short: 2_000, full: 100_000, long: 100_000 }); i++) yield chunk
    yield '\n2'
  }
  // In the full profile 6.5 GB: more than a Buffer can hold.
  expect((await readAll(huge(), 1_000)).map(({ _tag }) => _tag)).toEqual(['Right', 'Left', 'Right'])
})

it('gives the whole lines of a readable that fails, not the cut one', async () => {
  const failing = async function* (): AsyncIterable<Chunk> {
    yield '1\n2\n[3'
    throw new Error('EIO')
  }
  const seen: unknown[] = []
  const reading = async (): Promise<void> => {
    for await (const line of ndjsonLines(failing())) seen.push(line._tag)
  }
  await expect(reading()).rejects.toThrow('EIO')
  expect(seen).toEqual(['Right', 'Right'])
})

it('says what it reads, for what it cannot read', async () => {
  for (const given of [undefined, new Response('1')])
    expect(() => ndjsonLines(given as never)).toThrow(/^ndjsonLines: give .* response.body, not (u|a)n/)
  const words = /^ndjsonLines: a chunk must be text or bytes, got (null|an object)$/
  for (const chunk of [null, new ArrayBuffer(1), {}])
    await expect(readAll([chunk] as never, 9)).rejects.toThrow(words)
})
