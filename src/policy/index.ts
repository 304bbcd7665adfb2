/** `headrace/policy`: when to try again. `import * as RetryPolicy from 'headrace/policy'`. @module */
export { always, both, capDelay, deadline, exponential, fullJitter, limitRetries } from './retryPolicy.ts'
export { Monoid, respectRetryAfter, show, standard } from './retryPolicy.ts'
export type { ExponentialOptions, RetryPolicy } from './retryPolicy.ts'
export { plan, type PlanOptions, type PlannedAttempt } from './plan.ts'
