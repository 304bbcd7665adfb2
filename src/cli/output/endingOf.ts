import type { Outcome } from '../../outcome/Outcome.ts'
import { causesOf } from './causesOf.ts'
import type { Ending } from './Report.ts'

/** How an item ended, as it is reported. */
export const endingOf = (outcome: Outcome<unknown>): Ending => {
  const { attempts: n } = outcome
  switch (outcome._tag) {
    case 'Delivered': {
      const { sink: url, status } = outcome.receipt
      const taken = status === undefined ? { url } : { url, status }
      return { t: 'outcome', outcome: 'delivered', n, ...taken, causes: [] }
    }
    case 'Rejected':
      return { t: 'outcome', outcome: 'rejected', n, causes: causesOf(outcome.failure) }
    case 'Expired':
      return { t: 'outcome', outcome: 'expired', n, causes: causesOf(outcome.failure) }
    case 'Dropped':
      return { t: 'outcome', outcome: 'dropped', n, causes: [{ reason: outcome.reason }] }
    case 'Abandoned': {
      const causes = outcome.last === undefined ? [] : causesOf(outcome.last)
      return { t: 'outcome', outcome: 'abandoned', n, causes }
    }
  }
}
