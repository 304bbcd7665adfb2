import type { Outcome } from './Outcome.ts'

/** The accounting: accepted = delivered + rejected + expired + dropped + abandoned + waiting, at every moment. */
export interface Totals {
  readonly accepted: number
  readonly delivered: number
  readonly rejected: number
  readonly expired: number
  readonly dropped: number
  readonly abandoned: number
  /** Accepted and not ended. */
  readonly waiting: number
}

/** Counts that can only grow, and what is left between them. */
export interface Ledger {
  readonly accept: () => void
  readonly end: (outcome: Outcome<unknown>) => void
  readonly totals: () => Totals
}

/** A ledger; `stored` is what an outbox held already when it was opened: accepted in an earlier life. */
export const ledger = (stored = 0): Ledger => {
  const counts = { accepted: stored, delivered: 0, rejected: 0, expired: 0, dropped: 0, abandoned: 0 }
  const slots = {
    Delivered: 'delivered',
    Rejected: 'rejected',
    Expired: 'expired',
    Dropped: 'dropped',
    Abandoned: 'abandoned',
  } as const
  return {
    accept: () => {
      counts.accepted++
    },
    end: (outcome) => {
      counts[slots[outcome._tag]]++
    },
    totals: () => {
      const { accepted, delivered, rejected, expired, dropped, abandoned } = counts
      return { ...counts, waiting: accepted - delivered - rejected - expired - dropped - abandoned }
    },
  }
}
