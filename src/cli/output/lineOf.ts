import { showMillis } from '../values/showMillis.ts'
import { endingLine } from './endingLine.ts'
import { plain } from './plain.ts'
import type { Report, Subject } from './Report.ts'
import { showCauses } from './showCauses.ts'
import { wordOf } from './wordOf.ts'
import type { LineStyle } from './wordOf.ts'

const eventIn = ({ line, type, id, count }: Subject): string => {
  const where = line === 0 ? 'earlier  ' : `line ${String(line).padEnd(4)}`
  return count === undefined
    ? `${where} ${plain(type).padEnd(8)} ${plain(id)}`
    : `${where} ${plain(type)} of ${String(count)}`
}

/**
 * The line that a person reads: its first word says what became of the event. Undefined for what only a program wants to know, such as
 * each single request.
 */
export const lineOf = (report: Report, style: LineStyle): string | undefined => {
  const { nameOf = (url: string) => url } = style
  switch (report.t) {
    case 'refused': {
      const faults = report.faults.map(({ path, message }) => (path === '' ? message : `${path} ${message}`))
      return `${wordOf('refused', style)} line ${String(report.line).padEnd(4)} ${plain(faults.join('; '), 2_000)}`
    }
    case 'dropped':
      return `${wordOf('left out', style)} line ${String(report.line).padEnd(4)} ${plain(report.keys.join(', '), 2_000)}: not a field of this kind of event (told once)`
    case 'waiting': {
      const { n, ms, causes } = report
      return `${wordOf('waiting', style)} ${eventIn(report)}  attempt ${String(n)} failed: ${showCauses(causes, { nameOf, short: true })}; again in ${showMillis(ms)}`
    }
    case 'outcome':
      return endingLine(report, eventIn(report), style)
    case 'attempt':
    case 'url':
    case 'summary':
      return undefined
  }
}
