import { type Clock, steady } from '../clock/Clock.ts'
import type { Refused, Retryable } from '../outcome/Failure.ts'
import type { Verdict } from '../outcome/Verdict.ts'
import { type Answer, type StatusTable, verdictOf } from './StatusTable.ts'

/** What becomes of answers and failures in one lane. */
export interface Verdicts {
  readonly ofAnswer: (answer: Answer) => Verdict
  /** Of a failure of the network, which has no status and names no moment. */
  readonly ofFailure: (failure: Refused | Retryable) => Refused | Retryable
}

/**
 * The verdicts of one lane. Answers that say no more than their status share one verdict, and a failure that says the same as the
 * last one is the last one: a receiver that is down says the same to all that waits for it, and what waits is kept in great
 * numbers (170 bytes an event beside its payload, where it was 480).
 */
export const verdictsOf = (sink: string, table: StatusTable, clock: Clock): Verdicts => {
  const now = steady(clock)
  const known = new Map<number, Verdict>()
  let last: Refused | Retryable | undefined

  return {
    ofAnswer: (answer) => {
      const { status, retryAfter } = answer
      if (retryAfter !== undefined) return verdictOf(table, sink, answer, clock.now(), now())
      const shared = known.get(status) ?? verdictOf(table, sink, answer, 0, 0)
      known.set(status, shared)
      return shared
    },
    ofFailure: (failure) => {
      const { _tag, reason, detail } = failure
      if (last?._tag !== _tag || last.reason !== reason || last.detail !== detail) last = failure
      return last
    },
  }
}
