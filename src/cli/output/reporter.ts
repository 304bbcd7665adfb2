import type { Output } from './Output.ts'
import type { Terminal } from '../Terminal.ts'
import { lineOf } from './lineOf.ts'
import { toJson } from './Report.ts'
import type { Report } from './Report.ts'

/**
 * Writes reports as they come: data to stdout, as lines or as NDJSON; what was refused to stderr as well, for a person must see it
 * wherever the data goes.
 */
export const reporter =
  (
    { out, err }: Pick<Terminal, 'out' | 'err'>,
    output: Output,
    nameOf: (url: string) => string = (url) => url,
  ): ((report: Report) => void) =>
  (report) => {
    if (output === 'json') out.line(toJson(report))
    if (report.t === 'refused' || report.t === 'dropped') err.line(lineOf(report, err) ?? '')
    else if (output === 'lines') {
      const line = lineOf(report, { paint: out.paint, nameOf })
      if (line !== undefined) out.line(line)
    }
  }
