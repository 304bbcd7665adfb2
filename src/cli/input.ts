/**
 * Where events are read from: a file or stdin. A file can be marked at the end of each line, so that a later run reads on from there.
 *
 * @module
 */

import { createReadStream, fstatSync } from 'node:fs'
import type { BigIntStats } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { Readable, addAbortSignal } from 'node:stream'
import { crc32 } from 'node:zlib'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { ndjson } from '../sources/ndjson.ts'
import type { BadLine, Line } from '../sources/ndjson.ts'
import { wrong } from './options.ts'
import type { Checked } from './options.ts'
import { whyNot } from './report.ts'
import type { Host } from './terminal.ts'

/** The end of a line in a file. */
export interface Mark {
  /** Lines before it, empty ones too. */
  readonly line: number
  /** Bytes before it. */
  readonly offset: number
  readonly inode: string
  /** CRC-32 of the 4,096 bytes before it. */
  readonly checksum: number
  /** The file was read to its end. */
  readonly isEnd: boolean
}

export const markToText = ({ line, offset, inode, checksum, isEnd }: Mark): string =>
  [line, offset, inode, checksum, ...(isEnd ? ['end'] : [])].join(' ')

export const markFromText = (text: string | undefined): Mark | undefined => {
  const [, line, offset, inode, checksum, end] = /^(\d+) (\d+) (\d+) (\d+)( end)?$/.exec(text ?? '') ?? []
  if (inode === undefined) return undefined
  return {
    line: Number(line),
    offset: Number(offset),
    inode,
    checksum: Number(checksum),
    isEnd: end !== undefined,
  }
}

export interface Input {
  /** The whole path of a regular file, under which it is found again; undefined for pipes and stdin. */
  readonly name: string | undefined
  /** Its bytes. */
  readonly bytes: () => Readable
  /** The lines behind a mark, numbered as in the file; default from the first. To be called once. Aborting ends them. */
  readonly lines: (signal: AbortSignal, from?: Mark) => AsyncIterable<Either<BadLine, Line>>
  /** The mark at the end of a line that was just read. To be asked in order. Undefined without a name. */
  readonly markAt: (line: number) => Mark | undefined
  /** Whether it still is the file in which a mark was made, with the same bytes before the mark. */
  readonly has: (mark: Mark) => Promise<boolean>
  /** How much was read, from 0 to 1; undefined if the size is not known. */
  readonly share: () => number | undefined
  readonly isKeyboard: boolean
  /** Whether it is this file, under any name. */
  readonly is: (file: Pick<BigIntStats, 'dev' | 'ino'>) => boolean
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
const bytesBefore = async (path: string, offset: number): Promise<Buffer> => {
  const length = Math.min(offset, WINDOW)
  const handle = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, offset - length)
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}

const numbered = async function* (
  lines: AsyncIterable<Either<BadLine, Line>>,
  from: number,
): AsyncGenerator<Either<BadLine, Line>> {
  for await (const each of lines)
    yield each._tag === 'Right'
      ? right({ ...each.right, line: each.right.line + from })
      : left({ ...each.left, line: each.left.line + from })
}

const streamInput = (stream: Readable, isKeyboard: boolean, own: BigIntStats | undefined): Input => ({
  name: undefined,
  bytes: () => stream,
  lines: (signal) => ndjson(addAbortSignal(signal, stream)),
  markAt: () => undefined,
  has: () => Promise.resolve(false),
  share: () => undefined,
  isKeyboard,
  is: (file) => own !== undefined && own.isFile() && own.dev === file.dev && own.ino === file.ino,
})

/** Nothing is read. */
export const noInput = (): Input => streamInput(Readable.from([]), false, undefined)

const FOLDER = 'is a folder: give a file of events, one JSON object a line'

const standardInput = ({ stdin }: Host): Checked<Input> => {
  const stats = stdin.fd === undefined ? undefined : fstatSync(stdin.fd, { bigint: true })
  if (stats?.isDirectory() === true) return wrong(`stdin ${FOLDER}`)
  return right(streamInput(stdin, stdin.isTTY === true, stats))
}

/** The whole path of a regular file. `/dev/stdin` may stand for one. */
const nameOf = async (path: string): Promise<string | undefined> => {
  try {
    const name = await realpath(path)
    return /^\/(dev|proc)\//.test(name) ? undefined : name
  } catch {
    return undefined
  }
}

const fileInput = async (path: string): Promise<Checked<Input>> => {
  const handle = await open(path, 'r')
  const stats = await handle.stat({ bigint: true })
  if (!stats.isFile() && !stats.isDirectory())
    return right(streamInput(handle.createReadStream(), false, stats))
  await handle.close()
  if (stats.isDirectory()) return wrong(`'${path}' ${FOLDER}`)

  const name = await nameOf(path)
  const inode = String(stats.ino)
  const size = Number(stats.size)
  let read = 0
  let marks = marker(inode, { line: 0, offset: 0 }, Buffer.alloc(0))

  const chunks = async function* (signal: AbortSignal, from: Mark | undefined): AsyncGenerator<Buffer> {
    if (from !== undefined) marks = marker(inode, from, await bytesBefore(path, from.offset))
    const stream = createReadStream(path, { start: from?.offset ?? 0 })
    // Chunks are bytes: no encoding was set.
    for await (const chunk of addAbortSignal(signal, stream) as AsyncIterable<Buffer>) {
      read = (from?.offset ?? 0) + stream.bytesRead
      marks.push(chunk)
      yield chunk
    }
  }
  return right({
    ...streamInput(Readable.from([]), false, stats),
    name,
    bytes: () => createReadStream(path),
    lines: (signal, from) => numbered(ndjson(chunks(signal, from)), from?.line ?? 0),
    markAt: (line) => (name === undefined ? undefined : marks.markAt(line)),
    has: async (mark) =>
      mark.inode === inode &&
      mark.offset <= size &&
      crc32(await bytesBefore(path, mark.offset)) === mark.checksum,
    share: () => (size > 0 ? Math.min(1, read / size) : undefined),
  })
}

/** Opens a file, or stdin if the name is `-`. */
export const openInput = async (path: string, host: Host): Promise<Checked<Input>> => {
  try {
    return path === '-' ? standardInput(host) : await fileInput(path)
  } catch (error) {
    return wrong(`'${path}' cannot be read: ${whyNot(error)}; give a file of events, or - for stdin`)
  }
}
