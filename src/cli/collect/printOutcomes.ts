import type { Collector, DestinationOutcome } from '../../collector/Collector.ts'
import { endingOf } from '../output/endingOf.ts'
import { endingLine } from '../output/endingLine.ts'
import type { Output } from '../output/Output.ts'
import { plain } from '../output/plain.ts'
import { toJson } from '../output/Report.ts'
import type { Terminal } from '../Terminal.ts'

const write = ({ destination, outcome }: DestinationOutcome, output: Output, { out }: Terminal): void => {
  const ending = endingOf(outcome)
  const { id, items } = outcome.item
  const [{ type }] = items
  if (output === 'json') out.line(toJson({ ...ending, destination, id, type }))
  else
    out.line(
      endingLine(ending, `${plain(destination)}  ${type.padEnd(8)} ${plain(id)}`, { paint: out.paint }),
    )
}

/**
 * Writes a line for each event that has ended at a destination, until the collector is closed. Whoever reads sets the pace; if the reader
 * falls too far behind, lines are left out, and that is told.
 */
export const printOutcomes = async (
  collector: Collector,
  output: Output,
  terminal: Terminal,
): Promise<void> => {
  if (output === 'quiet') return
  for (;;) {
    const outcomes = collector.outcomes()
    try {
      for await (const outcome of outcomes) {
        await terminal.out.caughtUp()
        write(outcome, output, terminal)
      }
      return
    } catch {
      terminal.err.line(
        'headrace collect: stdout is read too slowly, so lines were left out; the account is complete',
      )
    }
  }
}
