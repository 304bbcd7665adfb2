/** `check-receiver`: says whether a receiver answers as headrace needs it. */
import { checkReceiver, expectedAnswer } from '../testing/checkReceiver.ts'
import type { OptionsOf } from './flags.ts'
import { toJson } from './report.ts'
import { FAULT, FINE, type Style, type Terminal } from './terminal.ts'

const RESULT_COLOURS: Readonly<Record<string, Style>> = { passed: 'green', failed: 'red', differs: 'yellow' }

export const checkReceiverCommand = async (
  { secret, tlsCa, output }: OptionsOf<'check-receiver'>,
  { out }: Terminal,
  url: string,
): Promise<number> => {
  const report = await checkReceiver(url, { secret, ...(tlsCa === undefined ? {} : { tls: { ca: tlsCa } }) })
  const coloured = (word: string): string => out.paint(RESULT_COLOURS[word] ?? 'red', word)
  const [first] = report.results
  const isSilent = report.results.every(({ status }) => status === undefined)
  if (output === 'text' && isSilent) out.line(`no answer from ${report.url}: ${String(first?.seen)}`)
  else if (output === 'text') out.line(report.text.replaceAll(/^(passed|failed|differs)/gm, coloured))
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
