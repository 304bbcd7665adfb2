/**
 * A place in an input: a line, and what stands there, so that a changed input is not taken for the same.
 *
 * @module
 */
import { crc32 } from 'node:zlib'

/** A line of an input. */
export interface Position {
  /** From 1; 0 is before the first. */
  readonly line: number
  /** CRC-32 of its text. */
  readonly sum: number
}

/** Before the first line. */
export const START: Position = { line: 0, sum: 0 }

/** The place of a line. */
export const positionOf = (line: number, text: string): Position => ({ line, sum: crc32(text) })

/** As it is stored. */
export const toText = ({ line, sum }: Position): string => `${String(line)}:${String(sum)}`

/** A stored place; undefined for what is none. */
export const fromText = (text: string | undefined): Position | undefined => {
  const [, line, sum] = /^(\d+):(\d+)$/.exec(text ?? '') ?? []
  return line === undefined || sum === undefined ? undefined : { line: Number(line), sum: Number(sum) }
}
