import { right } from 'fp-ts/lib/Either.js'
import { wrong } from './Checked.ts'
import type { Checked } from './Checked.ts'

/** A whole number within bounds, both included. */
export const parseCount = (flag: string, text: string, least: number, most: number): Checked<number> => {
  const count = /^\d+$/.test(text) ? Number(text) : NaN
  return count >= least && count <= most
    ? right(count)
    : wrong(`${flag} must be a whole number from ${String(least)} to ${String(most)}`)
}
