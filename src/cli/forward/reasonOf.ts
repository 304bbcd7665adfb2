import type { Outcome } from '../../outcome/Outcome.ts'
import { causesOf } from '../output/causesOf.ts'
import { showCauses } from '../output/showCauses.ts'

/** Why something was not delivered, for people; undefined if it was. */
export const reasonOf = (outcome: Outcome<unknown>): string | undefined => {
  switch (outcome._tag) {
    case 'Delivered':
      return undefined
    case 'Rejected':
      return `rejected: ${showCauses(causesOf(outcome.failure))}`
    case 'Expired':
      return `expired: ${showCauses(causesOf(outcome.failure))}`
    case 'Dropped':
      return `dropped: ${outcome.reason}`
    case 'Abandoned':
      return outcome.last === undefined
        ? 'abandoned: stopped before it was attempted'
        : `abandoned: stopped while it waited for its next attempt; ${showCauses(causesOf(outcome.last))}`
  }
}
