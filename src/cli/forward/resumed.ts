import { behind, isAt, START } from './Position.ts'
import type { Mark, Placed } from './Position.ts'

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
