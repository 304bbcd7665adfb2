import type { Failure } from './Failure.ts'

/** What happened to an item so far, stored with it. */
export interface Progress {
  /** Attempts that have failed, 1 or more. */
  readonly attempts: number
  /** How the last one failed. */
  readonly last: Failure
}
