import { right } from 'fp-ts/lib/Either.js'
import { wrong } from './Checked.ts'
import type { Checked } from './Checked.ts'

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }
const FORM = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/
/** A year: a longer wait is a slip of the finger. */
const LONGEST = 31_536_000_000

/**
 * A duration as people write it (`250ms`, `5s`, `1.5m`, `4h`), in whole milliseconds, from `least` to a year.
 *
 * @param flag its name, for the sentence
 */
export const parseDuration = (flag: string, text: string, least: 0 | 1 = 1): Checked<number> => {
  const [, amount, unit = ''] = FORM.exec(text) ?? []
  const millis = Math.round(Number(amount) * (UNITS[unit] ?? NaN))
  if (Number.isNaN(millis)) return wrong(`${flag} must be a number with a unit, such as 250ms, 5s, 10m or 4h`)
  if (millis < least) return wrong(`${flag} must be at least 1ms`)
  return millis > LONGEST ? wrong(`${flag} must be at most 8760h, which is a year`) : right(millis)
}
