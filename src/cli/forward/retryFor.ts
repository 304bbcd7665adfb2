import {
  both,
  capDelay,
  deadline,
  exponential,
  fullJitter,
  limitRetries,
  notBefore,
} from '../../policy/RetryPolicy.ts'
import type { RetryPolicy } from '../../policy/RetryPolicy.ts'

/** The retry policy of the decisions (DE4, DE5) with another deadline; 0 is one attempt and no retry. */
export const retryFor = (millis: number): RetryPolicy =>
  both(
    fullJitter(capDelay(600_000)(exponential())),
    both(millis === 0 ? limitRetries(0) : deadline(millis), notBefore),
  )
