import type { Outcome } from './outcome.ts'

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

/** Counts that only grow, but for what somebody else takes over, and what is left between them. */
export interface Counters {
  /** So many more; default one. */
  readonly accept: (count?: number) => void
  /** So many that wait were accepted by somebody else from now on. */
  readonly passOn: (count: number) => void
  readonly end: (outcome: Outcome<unknown>) => void
  readonly waiting: () => number
  readonly totals: () => Totals
}

/** A ledger; `stored` is what an outbox held already when it was opened: accepted in an earlier life. */
export const counters = (stored = 0): Counters => {
  const counts = { accepted: stored, delivered: 0, rejected: 0, expired: 0, dropped: 0, abandoned: 0 }
  const slots = {
    Delivered: 'delivered',
    Rejected: 'rejected',
    Expired: 'expired',
    Dropped: 'dropped',
    Abandoned: 'abandoned',
  } as const
  const waiting = (): number => {
    const { accepted, delivered, rejected, expired, dropped, abandoned } = counts
    return accepted - delivered - rejected - expired - dropped - abandoned
  }
  return {
    accept: (count = 1) => {
      counts.accepted += count
    },
    passOn: (count) => {
      counts.accepted -= count
    },
    end: (outcome) => {
      counts[slots[outcome._tag]]++
    },
    waiting,
    totals: () => ({ ...counts, waiting: waiting() }),
  }
}
