import { limitsOf } from './limitsOf.ts'
import type { RetryPolicy } from './RetryPolicy.ts'

/**
 * For how many milliseconds from the start of the first attempt further ones may start (DE4); at that moment none may.
 * Of several deadlines the nearest; Infinity if there is none.
 */
export const deadlineOf = (policy: RetryPolicy): number => limitsOf(policy).within
