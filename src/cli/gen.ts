/** `gen`: calls as NDJSON, made by the arbitraries of `headrace/testing/laws`. */
import { nextTurn } from '../core/clock.ts'
import { messageOf } from '../core/failure.ts'
import { KINDS, type OptionsOf } from './flags.ts'
import { UsageError, choice } from './options.ts'
import { FINE, escapedJson, type Terminal } from './terminal.ts'

/** Lines between two looks at whether the reader has taken them. */
const BURST = 100

/** fast-check is an optional peer dependency, loaded when calls are generated. */
const loadCalls = async () => {
  try {
    return await import('../testing/laws/invalidInput.ts')
  } catch (error) {
    if (!messageOf(error).includes("'fast-check'")) throw error
    throw new UsageError('needs the package fast-check, which is not installed: run "npm install fast-check"')
  }
}

export const genCommand = async (
  { count, seed, invalid }: OptionsOf<'gen'>,
  { out, host }: Terminal,
  _first: string,
  given: ReadonlyArray<string>,
): Promise<number> => {
  const kinds = given.map((each) => {
    const kind = choice(...KINDS)(each, host.env)
    if (kind._tag === 'Left') throw new UsageError(`KIND ${kind.left}`)
    return kind.right
  })
  const { callStream } = await loadCalls()
  const calls = callStream(seed, kinds, invalid)
  for (let written = 0; written < count && !out.gone.aborted; written++) {
    if (written % BURST === 0) {
      await out.caughtUp()
      // An error of the output is told a turn later.
      await new Promise<void>(nextTurn)
    }
    out.line(escapedJson(calls.next().value))
  }
  return FINE
}
