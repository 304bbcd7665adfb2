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

/** The totals of several together. */
export const sumOf = (all: ReadonlyArray<Totals>): Totals => {
  const sum = (of: (totals: Totals) => number): number => all.reduce((total, each) => total + of(each), 0)
  return {
    accepted: sum(({ accepted }) => accepted),
    delivered: sum(({ delivered }) => delivered),
    rejected: sum(({ rejected }) => rejected),
    expired: sum(({ expired }) => expired),
    dropped: sum(({ dropped }) => dropped),
    abandoned: sum(({ abandoned }) => abandoned),
    waiting: sum(({ waiting }) => waiting),
  }
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
