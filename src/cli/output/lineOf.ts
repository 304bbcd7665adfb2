import type { Style } from '../Terminal.ts'
import { showMillis } from '../values/showMillis.ts'
import { plain } from './plain.ts'
import type { Ending, Report, Subject } from './Report.ts'
import { showCauses } from './showCauses.ts'

/** How a line is written. */
export interface LineStyle {
  readonly paint: (style: Style, text: string) => string
  /** What a URL is called. Default: itself. */
  readonly nameOf?: (url: string) => string
}

const COLOURS: Readonly<Record<Ending['outcome'] | 'waiting' | 'refused' | 'left out', Style>> = {
  delivered: 'green',
  waiting: 'yellow',
  rejected: 'red',
  expired: 'red',
  dropped: 'red',
  refused: 'red',
  abandoned: 'yellow',
  'left out': 'yellow',
}

const times = (count: number): string => (count === 1 ? '1 attempt' : `${String(count)} attempts`)

const wordOf = (text: keyof typeof COLOURS, { paint }: LineStyle): string =>
  paint(COLOURS[text], text.padEnd(10))

/** The line for something that has ended; `what` says what it is. */
export const endingLine = (ending: Ending, what: string, style: LineStyle): string => {
  const { outcome, n, url, status, causes } = ending
  const { nameOf = (each: string) => each } = style
  const tries = n <= 1 ? '' : `, after ${times(n)}`
  if (url !== undefined)
    return `${wordOf(outcome, style)} ${what}  ${nameOf(url)} ${String(status ?? '')}`.trimEnd() + tries
  const why = causes.length === 0 ? 'never attempted' : showCauses(causes, { nameOf })
  return `${wordOf(outcome, style)} ${what}  ${why}${tries}`
}

const eventIn = ({ line, type, id, count }: Subject): string =>
  count === undefined
    ? `line ${String(line).padEnd(4)} ${plain(type).padEnd(8)} ${plain(id)}`
    : `line ${String(line).padEnd(4)} ${plain(type)} of ${String(count)}`

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
