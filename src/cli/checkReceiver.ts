/** `check-receiver`: says whether a receiver answers as headrace needs it. */
import { checkReceiver, expectedAnswer } from '../testing/checkReceiver.ts'
import type { OptionsOf } from './flags.ts'
import { toJson } from './report.ts'
import { FAULT, FINE, type Styles, type Terminal } from './terminal.ts'

const RESULT_COLOURS: Styles = { passed: 'green', failed: 'red', differs: 'yellow' }

type Flags = OptionsOf<'check-receiver'>

export const checkReceiverCommand = async (flags: Flags, { out }: Terminal, url: string): Promise<number> => {
  const { secret, tlsCa, output } = flags
  const report = await checkReceiver(url, { secret, ...(tlsCa === undefined ? {} : { tls: { ca: tlsCa } }) })
  const coloured = (word: string): string => out.paint(RESULT_COLOURS[word] ?? 'red', word)
  const isSilent = report.results.every(({ status }) => status === undefined)
  const text = isSilent ? `no answer from ${report.url}: ${String(report.results[0]?.seen)}` : report.text
  if (output === 'text') out.line(text.replaceAll(/^(passed|failed|differs)/gm, coloured))
  else {
    for (const { vector, passed, status, ms, seen } of report.results) {
      const { id, level, statement, why } = vector
      const expected = expectedAnswer(vector)
      out.line(toJson({ t: 'vector', id, level, passed, statement, expected, seen, status, ms, why }))
    }
    const failed = report.results.filter(({ passed }) => !passed).map(({ vector }) => vector.id)
    out.line(toJson({ t: 'summary', url: report.url, kept: report.kept, failed }))
  }
  return report.kept ? FINE : FAULT
}
