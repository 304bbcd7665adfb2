/**
 * A place in an input, and what was read up to there, so that a changed input is not taken for the same.
 *
 * @module
 */
import { crc32 } from 'node:zlib'
import type { Either } from 'fp-ts/lib/Either.js'
import type { BadLine, Line } from '../../sources/Line.ts'

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
