/**
 * Where events are read from: a file or stdin.
 *
 * @module
 */
import { fstatSync } from 'node:fs'
import type { BigIntStats } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { right } from 'fp-ts/lib/Either.js'
import { wrong } from '../values/Checked.ts'
import type { Checked } from '../values/Checked.ts'
import { whyNot } from '../output/whyNot.ts'

/** An input that is open. */
export interface Input {
  readonly stream: Readable
  /** The name under which it is found again; undefined if it is no file, and cannot be read a second time. */
  readonly name: string | undefined
  /** How much of it has been read, from 0 to 1; undefined if nobody knows where it ends. */
  readonly share: () => number | undefined
  /** Somebody types it. */
  readonly isKeyboard: boolean
  /** Whether it is the file at this place, under whatever name. */
  readonly is: (file: Pick<BigIntStats, 'dev' | 'ino'>) => boolean
}

const sameAs =
  (own: BigIntStats): Input['is'] =>
  (file) =>
    own.isFile() && own.dev === file.dev && own.ino === file.ino

/** Nothing is read. */
export const noInput = (): Input => ({
  stream: Readable.from([]),
  name: undefined,
  share: () => undefined,
  isKeyboard: false,
  is: () => false,
})

const standardInput = (): Checked<Input> => {
  const stats = fstatSync(0, { bigint: true })
  return stats.isDirectory()
    ? wrong('stdin is a folder: give a file of events, one JSON object a line')
    : right({
        stream: process.stdin,
        name: undefined,
        share: () => undefined,
        isKeyboard: process.stdin.isTTY,
        is: sameAs(stats),
      })
}

/** `/dev/stdin` may stand for a file: then that one's name is meant. What has none, or is no file, is another one the next time. */
const nameOf = async (path: string, stats: BigIntStats): Promise<string | undefined> => {
  if (!stats.isFile()) return undefined
  try {
    const name = await realpath(path)
    return /^\/(dev|proc)\//.test(name) ? undefined : name
  } catch {
    return undefined
  }
}

const file = async (path: string): Promise<Checked<Input>> => {
  const handle = await open(path, 'r')
  const stats = await handle.stat({ bigint: true })
  if (stats.isDirectory()) {
    await handle.close()
    return wrong(`'${path}' is a folder: give a file of events, one JSON object a line`)
  }
  const stream = handle.createReadStream()
  const size = Number(stats.size)
  return right({
    stream,
    name: await nameOf(path, stats),
    share: () => (stats.isFile() && size > 0 ? Math.min(1, stream.bytesRead / size) : undefined),
    isKeyboard: false,
    is: sameAs(stats),
  })
}

/** Opens a file, or stdin if the name is `-`. */
export const openInput = async (path: string): Promise<Checked<Input>> => {
  try {
    return path === '-' ? standardInput() : await file(path)
  } catch (error) {
    return wrong(`'${path}' cannot be read: ${whyNot(error)}; give a file of events, or - for stdin`)
  }
}
