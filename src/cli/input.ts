/** Where events are read from: a file or stdin. A file can be marked at the end of each line, so that a later run reads on from there. */
import { createReadStream, fstatSync } from 'node:fs'
import type { BigIntStats } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { addAbortSignal } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { crc32 } from 'node:zlib'
import { bimap } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { ndjson } from '../sources/ndjson.ts'
import type { BadLine, Line } from '../sources/ndjson.ts'
import { UsageError } from './options.ts'
import { whyNot } from './report.ts'
import type { Host } from './terminal.ts'

/** The end of a line in a file: how many lines and bytes are before it, and the CRC-32 of the 4,096 bytes before it. */
export interface Mark {
  readonly line: number
  readonly offset: number
  readonly inode: string
  readonly checksum: number
  /** The file was read to its end. */
  readonly isEnd: boolean
}

export const markToText = ({ line, offset, inode, checksum, isEnd }: Mark): string =>
  [line, offset, inode, checksum, ...(isEnd ? ['end'] : [])].join(' ')

export const markFromText = (text: string): Mark | undefined => {
  const [, line, offset, inode, checksum, end] = /^(\d+) (\d+) (\d+) (\d+)( end)?$/.exec(text) ?? []
  const numbers = { line: Number(line), offset: Number(offset), checksum: Number(checksum) }
  return inode === undefined ? undefined : { ...numbers, inode, isEnd: end !== undefined }
}

export interface Input {
  /** The whole path of a regular file, under which it is found again; undefined for pipes and stdin. */
  readonly name: string | undefined
  /** Of the file or the pipe that is read. */
  readonly stats: BigIntStats | undefined
  /** The lines behind a mark, numbered as in the file; default from the first. To be called once. Aborting ends them. */
  readonly lines: (signal: AbortSignal, from?: Mark) => AsyncIterable<Either<BadLine, Line>>
  /** The mark at the end of a line that was just read. To be asked in order. Undefined without a name. */
  readonly markAt: (line: number) => Mark | undefined
  /** Whether it still is the file in which a mark was made, with the same bytes before the mark. */
  readonly has: (mark: Mark) => Promise<boolean>
  /** How much was read, from 0 to 1; undefined if the size is not known. */
  readonly share: () => number | undefined
  readonly isKeyboard: boolean
}

const WINDOW = 4_096
const LINE_FEED = 0x0a

/** Finds the ends of lines in chunks that pass by. Begins at a place in the file, with the bytes before it. */
const marker = (inode: string, place: Pick<Mark, 'line' | 'offset'>, before: Buffer) => {
  let bytes = before
  /** The offset of the first of `bytes` in the file. */
  let start = place.offset - before.length
  let { line, offset: end } = place

  const advance = (to: number): void => {
    while (line < to) {
      const at = bytes.indexOf(LINE_FEED, Math.max(0, end - start))
      if (at === -1) return
      line++
      end = start + at + 1
    }
  }

  return {
    push: (chunk: Buffer): void => {
      advance(Infinity)
      const kept = bytes.subarray(-WINDOW)
      start += bytes.length - kept.length
      bytes = Buffer.concat([kept, chunk])
    },
    markAt: (wanted: number): Mark => {
      advance(wanted)
      // The last line may have no line break.
      const offset = line === wanted ? end : start + bytes.length
      const until = offset - start
      const checksum = crc32(bytes.subarray(Math.max(0, until - WINDOW), until))
      return { line, offset, inode, checksum, isEnd: false }
    },
  }
}

/** Up to 4,096 bytes before a place in a file. */
const bytesBefore = async (path: string, offset: number): Promise<Buffer> =>
  offset === 0
    ? Buffer.alloc(0)
    : buffer(createReadStream(path, { start: Math.max(0, offset - WINDOW), end: offset - 1 }))

const numbered = async function* (
  lines: AsyncIterable<Either<BadLine, Line>>,
  before: number,
): AsyncGenerator<Either<BadLine, Line>> {
  const shift = <A extends { readonly line: number }>(each: A): A => ({ ...each, line: each.line + before })
  for await (const each of lines) yield bimap<BadLine, BadLine, Line, Line>(shift, shift)(each)
}

/** A pipe or stdin, which cannot be read again. */
export const streamInput = (stream: Host['stdin'], stats?: BigIntStats): Input => ({
  name: undefined,
  stats,
  lines: (signal) => ndjson(addAbortSignal(signal, stream)),
  markAt: () => undefined,
  has: () => Promise.resolve(false),
  share: () => undefined,
  isKeyboard: stream.isTTY === true,
})

const fileInput = async (path: string, stats: BigIntStats): Promise<Input> => {
  const inode = String(stats.ino)
  const size = Number(stats.size)
  let read = 0
  let marks = marker(inode, { line: 0, offset: 0 }, Buffer.alloc(0))

  const chunks = async function* (signal: AbortSignal, from: Mark | undefined): AsyncGenerator<Buffer> {
    const start = from?.offset ?? 0
    if (from !== undefined) marks = marker(inode, from, await bytesBefore(path, start))
    const stream = createReadStream(path, { start })
    // Chunks are bytes: no encoding was set.
    for await (const chunk of addAbortSignal(signal, stream) as AsyncIterable<Buffer>) {
      read = start + stream.bytesRead
      marks.push(chunk)
      yield chunk
    }
  }
  return {
    name: await realpath(path),
    stats,
    lines: (signal, from) => numbered(ndjson(chunks(signal, from)), from?.line ?? 0),
    markAt: (line) => marks.markAt(line),
    has: async (mark) =>
      mark.inode === inode &&
      mark.offset <= size &&
      crc32(await bytesBefore(path, mark.offset)) === mark.checksum,
    share: () => (size > 0 ? Math.min(1, read / size) : undefined),
    isKeyboard: false,
  }
}

/** Opens a file, or stdin if the name is `-`. @throws UsageError */
export const openInput = async (path: string, { stdin }: Host): Promise<Input> => {
  try {
    if (path === '-')
      return streamInput(stdin, stdin.fd === undefined ? undefined : fstatSync(stdin.fd, { bigint: true }))
    const handle = await open(path, 'r')
    const stats = await handle.stat({ bigint: true })
    // A pipe can be opened only once.
    if (!stats.isFile() && !stats.isDirectory()) return streamInput(handle.createReadStream(), stats)
    await handle.close()
    if (stats.isFile()) return await fileInput(path, stats)
  } catch (error) {
    throw new UsageError(`'${path}' cannot be read: ${whyNot(error)}; give a file of events, or - for stdin`)
  }
  throw new UsageError(`'${path}' is a folder: give a file of events, one JSON object a line`)
}
