/**
 * The account of a run: read = refused + accepted, accepted = the sum of the rest.
 *
 * @module
 */

import type { Totals } from '../core/totals.ts'

export interface Summary extends Totals {
  /** Lines that were not empty: refused + accepted. */
  readonly read: number
  /** Lines that were no valid events. */
  readonly refused: number
}

const ENDS = ['delivered', 'rejected', 'expired', 'dropped', 'abandoned', 'waiting'] as const

export const summaryOf = (refused: number, totals: Totals): Summary => ({
  read: refused + totals.accepted,
  refused,
  accepted: totals.accepted,
  delivered: totals.delivered,
  rejected: totals.rejected,
  expired: totals.expired,
  dropped: totals.dropped,
  abandoned: totals.abandoned,
  waiting: totals.waiting,
})

/** Whether both sums hold. */
export const addsUp = (summary: Summary): boolean =>
  summary.read === summary.refused + summary.accepted &&
  summary.accepted === ENDS.reduce((sum, end) => sum + summary[end], 0)

const refusedIn = (refused: number): string => (refused === 0 ? '' : ` (${String(refused)} refused)`)

/** How accepted events ended, without zeros: `delivered 20 · rejected 1`. */
export const showEnds = (totals: Totals): string =>
  ENDS.filter((end) => totals[end] > 0)
    .map((end) => `${end} ${String(totals[end])}`)
    .join(' · ')

/** One line: `read 22 (2 refused) · delivered 20`. */
export const show = (summary: Summary): string =>
  [`read ${String(summary.read)}${refusedIn(summary.refused)}`, showEnds(summary)].filter(Boolean).join(' · ')
