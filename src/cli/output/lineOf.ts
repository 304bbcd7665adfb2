import type { Style } from '../Terminal.ts'
import { showMillis } from '../values/showMillis.ts'
import { plain } from './plain.ts'
import type { Outcome, Report, Subject } from './Report.ts'
import { showCauses } from './showCauses.ts'

/** How a line is written. */
export interface LineStyle {
  readonly paint: (style: Style, text: string) => string
  /** What a URL is called. Default: itself. */
  readonly nameOf?: (url: string) => string
}

const COLOURS: Readonly<Record<Outcome['outcome'] | 'waiting' | 'refused' | 'left out', Style>> = {
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

/**
 * The line that a person reads: its first word says what became of the event. Undefined for what only a program wants to know, such as
 * each single request.
 */
export const lineOf = (report: Report, { paint, nameOf = (url) => url }: LineStyle): string | undefined => {
  const word = (text: keyof typeof COLOURS): string => paint(COLOURS[text], text.padEnd(10))
  const event = ({ line, type, id }: Subject): string =>
    `line ${String(line).padEnd(4)} ${plain(type).padEnd(8)} ${plain(id)}`

  switch (report.t) {
    case 'refused': {
      const faults = report.faults.map(({ path, message }) => (path === '' ? message : `${path} ${message}`))
      return `${word('refused')} line ${String(report.line).padEnd(4)} ${plain(faults.join('; '), 2_000)}`
    }
    case 'dropped':
      return `${word('left out')} line ${String(report.line).padEnd(4)} ${plain(report.keys.join(', '), 2_000)}: not a field of this kind of event (told once)`
    case 'waiting': {
      const { n, ms, causes } = report
      return `${word('waiting')} ${event(report)}  attempt ${String(n)} failed: ${showCauses(causes, { nameOf, short: true })}; again in ${showMillis(ms)}`
    }
    case 'outcome': {
      const { outcome, n, url, status, causes } = report
      const tries = n <= 1 ? '' : `, after ${times(n)}`
      if (url !== undefined)
        return `${word(outcome)} ${event(report)}  ${nameOf(url)} ${String(status ?? '')}`.trimEnd() + tries
      const why = causes.length === 0 ? 'never attempted' : showCauses(causes, { nameOf })
      return `${word(outcome)} ${event(report)}  ${why}${tries}`
    }
    case 'attempt':
    case 'url':
    case 'summary':
      return undefined
  }
}
