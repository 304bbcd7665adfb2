import type { Either } from 'fp-ts/lib/Either.js'
import type { BadLine, Line } from '../../sources/Line.ts'
import { positionOf } from './Position.ts'
import type { Position } from './Position.ts'

type Read = Either<BadLine, Line>

/** What an input must not have become since it was taken up to some line. */
const changed = (line: number): Error =>
  new Error(
    `line ${String(line)}, up to which it was taken by an earlier run, is not what it was: send the new input with an outbox of its own`,
  )

/**
 * The lines behind a place that an earlier run came to. Nothing is passed over unless that line still is what it was; a line that is no
 * JSON cannot be where a run came to, for nothing is accepted of it.
 */
export async function* resumed(
  lines: AsyncIterable<Read>,
  after: Position | undefined,
): AsyncGenerator<Read> {
  if (after === undefined) {
    yield* lines
    return
  }
  let isFound = false
  for await (const read of lines) {
    const line = read._tag === 'Right' ? read.right.line : read.left.line
    if (line > after.line) {
      if (!isFound) throw changed(after.line)
      yield read
    } else if (line === after.line) {
      isFound = read._tag === 'Right' && positionOf(line, read.right.text).sum === after.sum
      if (!isFound) throw changed(line)
    }
  }
  if (!isFound) throw changed(after.line)
}
