/**
 * What the operating system says of a failure.
 *
 * @module
 */

/** Its word for it; empty if it is none of the system's. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT'])

/** Whether it is that no room is left on the disk. */
export const isFull = (error: unknown): boolean => FULL.has(codeOf(error))
