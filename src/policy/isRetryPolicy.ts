import { isRecord } from '../internal/Fields.ts'
import type { RetryPolicy } from './RetryPolicy.ts'

const isNumber = (value: unknown): boolean => typeof value === 'number' && !Number.isNaN(value)

/**
 * Whether a value is a policy down to its parts: a policy is plain data, so one may come from a file or be made by hand. Whether its
 * numbers make sense is for the constructors to say.
 */
export const isRetryPolicy = (value: unknown): value is RetryPolicy => {
  if (!isRecord(value)) return false
  const { _tag, base, factor, most, within, policy, left, right } = value
  switch (_tag) {
    case 'Always':
    case 'NotBefore':
      return true
    case 'Exponential':
      return isNumber(base) && isNumber(factor)
    case 'CapDelay':
      return isNumber(most) && isRetryPolicy(policy)
    case 'FullJitter':
      return isRetryPolicy(policy)
    case 'LimitRetries':
      return isNumber(most)
    case 'Deadline':
      return isNumber(within)
    case 'Both':
      return isRetryPolicy(left) && isRetryPolicy(right)
    default:
      return false
  }
}
