import { concatAll, struct, type Monoid } from 'fp-ts/lib/Monoid.js'
import { MonoidSum } from 'fp-ts/lib/number.js'
import type { Outcome } from './outcome.ts'

/**
 * The counts of a process, at every moment: accepted = delivered + rejected + expired + dropped + abandoned +
 * waiting.
 */
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

const TotalsMonoid: Monoid<Totals> = struct({
  accepted: MonoidSum,
  delivered: MonoidSum,
  rejected: MonoidSum,
  expired: MonoidSum,
  dropped: MonoidSum,
  abandoned: MonoidSum,
  waiting: MonoidSum,
})

/** The totals of several together. */
export const sumOf: (all: ReadonlyArray<Totals>) => Totals = concatAll(TotalsMonoid)

/** Counts accepted items and their outcomes. */
export interface Counters {
  /** Default: one. */
  readonly accept: (count?: number) => void
  /** Counts an item that ended, by its outcome. */
  readonly end: (outcome: Outcome<unknown>) => void
  /** A stored item that cannot be read counts as rejected. It has no outcome. */
  readonly endCorrupt: () => void
  readonly waiting: () => number
  readonly totals: () => Totals
}

const SLOTS = {
  Delivered: 'delivered',
  Rejected: 'rejected',
  Expired: 'expired',
  Dropped: 'dropped',
  Abandoned: 'abandoned',
} as const

/** Counters at zero; `stored` items of an opened outbox count as accepted. */
export const counters = (stored = 0): Counters => {
  const counts = { accepted: stored, delivered: 0, rejected: 0, expired: 0, dropped: 0, abandoned: 0 }
  const waiting = (): number => {
    const { accepted, delivered, rejected, expired, dropped, abandoned } = counts
    return accepted - delivered - rejected - expired - dropped - abandoned
  }
  return {
    accept: (count = 1) => {
      counts.accepted += count
    },
    end: (outcome) => {
      counts[SLOTS[outcome._tag]]++
    },
    endCorrupt: () => {
      counts.rejected++
    },
    waiting,
    totals: () => ({ ...counts, waiting: waiting() }),
  }
}
