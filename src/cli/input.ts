/**
 * Where events are read from: a file or stdin.
 *
 * @module
 */

import { fstatSync } from 'node:fs'
import type { BigIntStats } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { crc32 } from 'node:zlib'
import { right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { lookup } from '../core/lookup.ts'
import { callOf } from '../event/call.ts'
import type { Event } from '../event/event.ts'
import type { EventPayload, Payload } from '../event/payload.ts'
import type { BadLine, Line } from '../sources/ndjson.ts'
import { whyNot } from './report.ts'
import type { Subject } from './report.ts'
import { wrong } from './values.ts'
import type { Checked } from './values.ts'

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

/** What was read of an input. */
export interface Position {
  /** From 1; 0 is before the first. */
  readonly line: number
  /** CRC-32 of everything up to the end of the line. */
  readonly sum: number
}

/** How far an earlier run took an input. */
export interface Mark extends Position {
  /** What `sum` is of: older marks knew the last line alone. */
  readonly of: 'everything' | 'lastLine'
  /** When the input was read to its end, in milliseconds since 1970; undefined if it was not. */
  readonly ended: number | undefined
}

/** A line with its place. */
export interface Placed {
  readonly read: Either<BadLine, Line>
  readonly position: Position
}

/** Before the first line. */
export const START: Position = { line: 0, sum: 0 }

/** A line that is no JSON has no text here: that it is none, and from where on, stands for it. */
const textOf = (read: Placed['read']): string =>
  read._tag === 'Right' ? read.right.text : `${read.left.reason} ${String(read.left.character ?? 0)}`

/** The place of a line behind what was read before it. */
export const behind = ({ sum }: Position, read: Placed['read']): Position => ({
  line: read._tag === 'Right' ? read.right.line : read.left.line,
  sum: crc32(`${textOf(read)}\n`, sum),
})

/** Whether an earlier run came to this line, by way of the same lines. Nothing is taken of a line that is no JSON. */
export const isAt = ({ line, sum, of }: Mark, { read, position }: Placed): boolean =>
  read._tag === 'Right' &&
  position.line === line &&
  (of === 'everything' ? position.sum : crc32(read.right.text)) === sum

/** As it is stored while the input is being read. */
export const toText = ({ line, sum }: Position): string => `all:${String(line)}:${String(sum)}`

/** As it is stored when it has been read to its end, at a moment in milliseconds since 1970. */
export const endToText = ({ line, sum }: Position, at: number): string =>
  `end:${String(line)}:${String(sum)}:${String(at)}`

/** A stored mark; undefined for what is none, and for one before the first line. */
export const fromText = (text: string | undefined): Mark | undefined => {
  const [, form, line, sum, at] = /^(?:(all|end):)?(\d+):(\d+)(?::(\d+))?$/.exec(text ?? '') ?? []
  if (Number(line ?? 0) === 0 || (form === 'end') !== (at !== undefined)) return undefined
  return {
    line: Number(line),
    sum: Number(sum),
    of: form === undefined ? 'lastLine' : 'everything',
    ended: at === undefined ? undefined : Number(at),
  }
}

type Lines = AsyncIterable<Placed['read']>

/** What is read, and how far an earlier run came with it. */
export interface ResumedOptions {
  readonly lines: Lines
  /** All of it once more, from its first line. */
  readonly again: () => Lines
  readonly mark: Mark | undefined
  /** Is told that the lines up to the mark are what they were, and how many of them hold something: they are not read again. */
  readonly onPassed: (last: Placed['position'], count: number) => void
  /** Is told that this is not what was read to its end under this name: it is read from its first line. */
  readonly onOther: () => void
}

const changed = (line: number): Error =>
  new Error(
    `its first ${String(line)} lines are not those that an earlier run took, which did not come to their end: give another input an outbox of its own, or read this one from its first line with --from-start`,
  )

async function* placed(lines: Lines): AsyncGenerator<Placed> {
  let position = START
  for await (const read of lines) {
    position = behind(position, read)
    yield { read, position }
  }
}

/**
 * The lines behind a place that an earlier run came to, if all lines up to there still are what they were. If not, this is another input: it is
 * read from its first line when the one before was read to its end, and otherwise not at all, for nobody would miss the rest of that.
 */
export async function* resumed(options: ResumedOptions): AsyncGenerator<Placed> {
  const { lines, again, mark, onPassed, onOther } = options
  if (mark === undefined) {
    yield* placed(lines)
    return
  }
  let count = 0
  let isSame = false
  for await (const each of placed(lines)) {
    if (isSame) yield each
    else {
      count++
      if (each.position.line < mark.line) continue
      if (!isAt(mark, each)) break
      isSame = true
      onPassed(each.position, count)
    }
  }
  if (isSame) return
  if (mark.ended === undefined) throw changed(mark.line)
  onOther()
  yield* placed(again())
}

/** What stands in a payload: an event, or, when only its text is kept, the type of it. */
type Carried = Event | Event['type']

/** Who is who among the events of a run. */
export interface Register {
  /** What was read in this line has become this item. */
  readonly offered: (item: unknown, line: number) => void
  /** It was accepted. */
  readonly accepted: (item: unknown) => void
  /**
   * It has its outcome. What is told of it afterwards (a sibling's late answer) still finds its subject. Answers how to have the calls in it,
   * so that what was delivered is not spelt out for nobody.
   */
  readonly ended: (item: unknown) => () => ReadonlyArray<object>
  /** Its line is 0 if it was accepted by an earlier run. */
  readonly subjectOf: (item: unknown) => Subject | undefined
  /** Accepted and not ended. */
  readonly outstanding: () => ReadonlyArray<object>
}

const isPayload = (item: unknown): item is Payload<Carried> =>
  typeof item === 'object' && item !== null && 'id' in item && 'items' in item && Array.isArray(item.items)

const callIn = ({ items: [carried], text }: EventPayload<Carried>): object =>
  // What was sent is the JSON text of an object.
  typeof carried === 'string' ? (JSON.parse(text) as object) : callOf(carried)

const callsIn = (payload: Payload<Carried>): ReadonlyArray<object> =>
  payload.members === undefined ? [callIn(payload)] : payload.members.map(callIn)

const typeOf = (carried: Carried): string => (typeof carried === 'string' ? carried : carried.type)

/** A register. It holds on to what has not ended, and to nothing else. */
export const register = (): Register => {
  const lines = new WeakMap<object, number>()
  /** What comes back from a disk is another object with the same id. */
  const linesById = lookup<number>()
  const waiting = new Set<Payload<Carried>>()
  const lineOf = (payload: Payload<Carried>): number => {
    const first = payload.members?.[0] ?? payload
    return lines.get(first) ?? linesById.get(first.id) ?? 0
  }
  return {
    offered: (item, line) => {
      if (!isPayload(item)) return
      lines.set(item, line)
      linesById.set(item.id, line)
    },
    accepted: (item) => {
      if (isPayload(item)) waiting.add(item)
    },
    ended: (item) => {
      if (!isPayload(item)) return () => []
      waiting.delete(item)
      lines.set(item, lineOf(item))
      linesById.delete(item.id)
      return () => callsIn(item)
    },
    subjectOf: (item) => {
      if (!isPayload(item)) return undefined
      const { id, items } = item
      const line = lineOf(item)
      if (item.members !== undefined) return { line, id, type: 'batch', count: items.length }
      return { line, id, type: typeOf(item.items[0]) }
    },
    outstanding: () => [...waiting].flatMap(callsIn),
  }
}
