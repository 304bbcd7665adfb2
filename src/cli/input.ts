/** Reads events from a file or stdin. A later run can go on behind the last line of a file. */
import { accessSync, constants, createReadStream, fstatSync, open, statSync, type BigIntStats } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { Socket } from 'node:net'
import { dirname } from 'node:path'
import { addAbortSignal, type Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'
import type { Either } from '../core/either.ts'
import { ndjsonLines, type BadLine, type Line } from '../sources/ndjson.ts'
import { UsageError } from './options.ts'
import { whyNot } from './report.ts'
import type { Host } from './terminal.ts'

/** The end of a line in a file: lines and bytes before it, and the CRC-32 of the 4,096 bytes before it. */
export interface Cursor {
  readonly line: number
  readonly offset: number
  readonly inode: string
  readonly checksum: number
  /** The file was read to its end. */
  readonly isEnd: boolean
}

export const markToText = ({ line, offset, inode, checksum, isEnd }: Cursor): string =>
  `${[line, offset, inode, checksum].join(' ')}${isEnd ? ' end' : ''}`

export const markFromText = (text: string): Cursor | undefined => {
  const [, line, offset, inode, checksum, end] = /^(\d+) (\d+) (\d+) (\d+)( end)?$/.exec(text) ?? []
  const numbers = { line: Number(line), offset: Number(offset), checksum: Number(checksum) }
  return inode === undefined ? undefined : { ...numbers, inode, isEnd: end !== undefined }
}

export interface Input {
  /** The whole path of a regular file, under which it is found again; undefined for pipes and stdin. */
  readonly name?: string
  /** Of the file or the pipe that is read. */
  readonly stats?: BigIntStats | undefined
  /** The lines behind the cursor, numbered from 1; default all. To be called once. Aborting ends them. */
  readonly lines: (signal: AbortSignal, from?: Cursor) => AsyncIterable<Either<BadLine, Line>>
  /** The mark at the end of the line that was just read. */
  readonly mark?: () => Cursor
  /** Whether the file still has the same bytes before the cursor. */
  readonly has?: (mark: Cursor) => Promise<boolean>
  readonly isKeyboard: boolean
}

const WINDOW = 4_096
const LINE_FEED = 0x0a

/** Up to 4,096 bytes before a place in a file. */
const bytesBefore = async (path: string, offset: number): Promise<Buffer> =>
  offset === 0
    ? Buffer.alloc(0)
    : buffer(createReadStream(path, { start: Math.max(0, offset - WINDOW), end: offset - 1 }))

/** A pipe or stdin, which cannot be read again. */
export const streamInput = (open: () => Readable, stats?: BigIntStats, isKeyboard = false): Input => ({
  stats,
  lines: (signal) => ndjsonLines(addAbortSignal(signal, open())),
  isKeyboard,
})

const fileInput = async (path: string, stats: BigIntStats): Promise<Input> => {
  const inode = String(stats.ino)
  let [line, offset] = [0, 0]
  /** The bytes that are being read and those before them; the line ends before `end`. */
  let bytes = Buffer.alloc(0)
  let end = 0

  /** Gives one line at a time, so that the place is known when the reader has a line. */
  const pieces = async function* (signal: AbortSignal, from: Cursor | undefined): AsyncGenerator<Buffer> {
    if (from !== undefined) {
      ;({ line, offset } = from)
      bytes = Buffer.from(await bytesBefore(path, offset))
    }
    const stream = createReadStream(path, { start: offset })
    // Chunks are bytes: no encoding was set.
    for await (const chunk of addAbortSignal(signal, stream) as AsyncIterable<Buffer>) {
      bytes = Buffer.concat([bytes.subarray(-WINDOW), chunk])
      end = bytes.length - chunk.length
      while (end < bytes.length) {
        const start = end
        const lineFeed = bytes.indexOf(LINE_FEED, start)
        if (lineFeed !== -1) line++
        end = lineFeed === -1 ? bytes.length : lineFeed + 1
        offset += end - start
        yield bytes.subarray(start, end)
      }
    }
  }
  return {
    name: await realpath(path),
    stats,
    lines: (signal, from) => ndjsonLines(pieces(signal, from)),
    mark: () => {
      const checksum = crc32(bytes.subarray(Math.max(0, end - WINDOW), end))
      return { line, offset, inode, checksum, isEnd: false }
    },
    has: async (at) => at.inode === inode && crc32(await bytesBefore(path, at.offset)) === at.checksum,
    isKeyboard: false,
  }
}

/** Opens a file, or stdin if the name is `-`. @throws UsageError */
export const openInput = async (path: string, { stdin }: Host): Promise<Input> => {
  try {
    if (path === '-') {
      const stats = stdin.fd === undefined ? undefined : fstatSync(stdin.fd, { bigint: true })
      return streamInput(() => stdin, stats, stdin.isTTY)
    }
    accessSync(path, constants.R_OK)
    const stats = statSync(path, { bigint: true })
    if (stats.isFile()) return await fileInput(path, stats)
    if (!stats.isDirectory()) {
      const fd = await promisify(open)(path, 'r')
      // A read of a pipe by `fs` cannot be cut. A socket reads, and keeps the process, once it is made.
      return streamInput(() => (stats.isFIFO() ? new Socket({ fd }) : createReadStream(path, { fd })), stats)
    }
  } catch (error) {
    throw new UsageError(`'${path}' cannot be read: ${whyNot(error)}; give a file of events, or - for stdin`)
  }
  throw new UsageError(`'${path}' is a folder: give a file of events, one JSON object a line`)
}

/** @throws UsageError if a file, or the folder of a new one, cannot be written */
export const assertWritable = (flag: string, path: string): void => {
  try {
    const existing = statSync(path, { throwIfNoEntry: false })
    if (existing?.isDirectory() === true) throw new UsageError(`${flag} '${path}' is a folder: name a file`)
    accessSync(existing === undefined ? dirname(path) : path, constants.W_OK)
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`${flag} '${path}' cannot be written: ${whyNot(error)}; give another file`)
  }
}
