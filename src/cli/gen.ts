/** `gen`: calls as NDJSON, made by the arbitraries of `headrace/testing/laws`. */
import { nextTurn } from '../core/clock.ts'
import { KINDS, type OptionsOf } from './flags.ts'
import { choice, peer, valueOf } from './options.ts'
import { FINE, escapedJson, type Terminal } from './terminal.ts'

/** Lines between two looks at whether the reader has taken them. */
const BURST = 100

export const genCommand = async (
  { count, seed, invalid }: OptionsOf<'gen'>,
  { out, host }: Terminal,
  _first: string,
  given: ReadonlyArray<string>,
): Promise<number> => {
  const kinds = given.map((each) => valueOf('KIND', choice(...KINDS)(each, host.env)))
  const { callStream } = await peer('fast-check', import('../testing/laws/invalidInput.ts'))
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
