/**
 * One line of NDJSON: a value, or why it is none.
 *
 * @module
 */

/** A line that holds a value. */
export interface Line {
  /** 1 for the first line of the input; empty lines count. */
  readonly line: number
  readonly value: unknown
  /** The line as it was written. */
  readonly text: string
}

/** A line that is lost, without harm to the others. It never says what stands in the line, for that is somebody's data. */
export interface BadLine {
  readonly _tag: 'BadLine'
  /** 1 for the first line of the input; empty lines count. */
  readonly line: number
  readonly reason: 'notJson' | 'notUtf8' | 'tooLong'
  /** For people: what would be right. */
  readonly detail: string
  /** Where in the line it stops being JSON, in UTF-16 units; 1 is the first. */
  readonly character?: number
}

/** It is longer than is allowed. */
export const tooLong = (line: number, maxBytes: number): BadLine => ({
  _tag: 'BadLine',
  line,
  reason: 'tooLong',
  detail: `longer than ${String(maxBytes)} bytes`,
})

/** Its bytes are no UTF-8. */
export const notUtf8 = (line: number): BadLine => ({
  _tag: 'BadLine',
  line,
  reason: 'notUtf8',
  detail: 'not UTF-8: save the file in that encoding',
})

/** It is no JSON from this character on. */
export const notJson = (line: number, character: number, expected: string): BadLine => ({
  _tag: 'BadLine',
  line,
  reason: 'notJson',
  detail: `not JSON: expected ${expected} at character ${String(character)}`,
  character,
})

/** One line for people: `line 3: not JSON: expected a colon at character 17`. */
export const show = (bad: BadLine): string => `line ${String(bad.line)}: ${bad.detail}`
