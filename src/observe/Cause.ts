/**
 * What a reader of a log wants to know of a failure: is it the same as before, and is it bad.
 *
 * @module
 */
import type { Failure } from '../outcome/Failure.ts'

const LONGEST = 200

/** What a person must act on: DE2 and DE3 call these errors. */
const GRAVE: ReadonlySet<string> = new Set(['timeout', 'certificate', 'blockedAddress'])

/** Whether some part of it is a timeout, a certificate that does not verify, or a forbidden address. */
export const isGrave = (failure: Failure): boolean => {
  switch (failure._tag) {
    case 'Refused':
    case 'Retryable':
      return GRAVE.has(failure.reason)
    case 'EachOf':
      return failure.causes.some((cause) => isGrave(cause.failure))
    case 'SomeOf':
      return failure.members.some((member) => member._tag === 'Left' && isGrave(member.left))
    case 'Expired':
      return isGrave(failure.last)
  }
}

const whole = (failure: Failure): string => {
  switch (failure._tag) {
    case 'Refused':
    case 'Retryable':
      return `${failure.reason} ${String(failure.status ?? '')}`
    case 'EachOf':
      return failure.causes.map((cause) => `${cause.sink} ${whole(cause.failure)}`).join(';')
    case 'SomeOf': {
      const causes = failure.members.flatMap((member) => (member._tag === 'Left' ? [whole(member.left)] : []))
      return [...new Set(causes)].sort().join(';')
    }
    case 'Expired':
      return 'expired'
  }
}

/** A short text that is the same for failures of the same cause. Details are not in it: they may differ with every message. */
export const causeOf = (failure: Failure): string => whole(failure).slice(0, LONGEST)
