/**
 * The forms in which results are written.
 *
 * @module
 */

/** Lines for people, NDJSON for programs, or nothing but complaints and the account. */
export type Output = 'lines' | 'json' | 'quiet'

/** All of them. */
export const OUTPUTS: ReadonlyArray<Output> = ['lines', 'json', 'quiet']
