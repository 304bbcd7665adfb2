import type { Ending } from './Report.ts'
import { showCauses } from './showCauses.ts'
import { wordOf } from './wordOf.ts'
import type { LineStyle } from './wordOf.ts'

const times = (count: number): string => (count === 1 ? '1 attempt' : `${String(count)} attempts`)

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
