import type { RetryPolicy } from './retryPolicy.ts'

const UNITS = [
  { name: 'h', size: 3_600_000 },
  { name: 'm', size: 60_000 },
  { name: 's', size: 1_000 },
] as const

/** Whole milliseconds in the largest unit that leaves no rest: `4h`, `90s`, `1500ms`. */
export const showDuration = (ms: number): string => {
  const unit = UNITS.find(({ size }) => ms >= size && ms % size === 0)
  return unit === undefined ? `${String(ms)}ms` : `${String(ms / unit.size)}${unit.name}`
}

/** The parts that stand side by side. `always` adds nothing, so it is not shown beside others. */
const parts = (policy: RetryPolicy): ReadonlyArray<RetryPolicy> => {
  if (policy._tag === 'Always') return []
  return policy._tag === 'Both' ? [...parts(policy.left), ...parts(policy.right)] : [policy]
}

/** A combined policy inside a cap or a jitter stands in parentheses. */
const within = (policy: RetryPolicy): string =>
  parts(policy).length > 1 ? `(${show(policy)})` : show(policy)

const showPart = (policy: RetryPolicy): string => {
  switch (policy._tag) {
    case 'Always':
      return 'always'
    case 'Exponential':
      return `exponential from ${showDuration(policy.base)} x${String(policy.factor)}`
    case 'CapDelay':
      return `${within(policy.policy)}, at most ${showDuration(policy.most)}`
    case 'FullJitter':
      return `${within(policy.policy)}, full jitter`
    case 'LimitRetries':
      return policy.most === 1 ? 'at most 1 retry' : `at most ${String(policy.most)} retries`
    case 'Deadline':
      return `until ${showDuration(policy.within)}`
    case 'NotBefore':
      return 'not before Retry-After'
    case 'Both':
      return show(policy)
  }
}

/**
 * A policy in words, its parts separated by semicolons: `exponential from 1s x2, at most 10m, full jitter; until 4h`.
 * Policies that differ only in grouping read the same.
 */
export const show = (policy: RetryPolicy): string => {
  const shown = parts(policy).map(showPart)
  return shown.length === 0 ? 'always' : shown.join('; ')
}
