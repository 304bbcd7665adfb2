/**
 * The account of a run: read = refused + accepted, accepted = the sum of the rest.
 *
 * @module
 */

import type { Totals } from '../core/totals.ts'

/** What became of everything that was read. */
export interface Summary extends Totals {
  /** Lines that held something: refused + accepted. */
  readonly read: number
  /** Turned away at the door. */
  readonly refused: number
}

const ENDS = ['delivered', 'rejected', 'expired', 'dropped', 'abandoned', 'waiting'] as const

/** The summary of a run. */
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

/** Whether it adds up. */
export const addsUp = (summary: Summary): boolean =>
  summary.read === summary.refused + summary.accepted &&
  summary.accepted === ENDS.reduce((sum, end) => sum + summary[end], 0)

/** Accepted, and not delivered. */
export const undelivered = ({ accepted, delivered }: Summary): number => accepted - delivered

/** Both sums in one line. Parts that are nothing are left out. */
export const show = (summary: Summary): string => {
  const { read, refused, accepted } = summary
  const parts = ENDS.filter((end) => summary[end] > 0).map((end) => `${String(summary[end])} ${end}`)
  const door = `${String(read)} read = ${String(accepted)} accepted + ${String(refused)} refused`
  return accepted === 0 ? door : `${door}; ${String(accepted)} accepted = ${parts.join(' + ')}`
}
