/**
 * The exit codes. They are frozen: scripts depend on them.
 *
 * @module
 */
import type { Summary } from './Summary.ts'

/** All delivered; a signature that is authentic; a help text. */
export const FINE = 0
/** Not the user's doing; and for `verify` and `listen --once`: not authentic. */
export const FAULT = 1
/** Wrong flags, files or settings: nothing was sent. */
export const USAGE = 2
/** Some events were rejected or expired. */
export const DEAD = 3
/** Some lines were refused. */
export const REFUSED = 4
/** Something was accepted and none of it was delivered. */
export const NOTHING = 5
/** Stopped before everything was read and ended. */
export const STOPPED = 7

/** What the codes of `send` mean, for its help. */
export const MEANINGS = `Exit codes (frozen: scripts may depend on them):
  0  all delivered, or the input held no events
  1  something failed inside: the input, the output or --dead on the way
  2  wrong usage or settings: nothing was sent
  3  finished, but some events were rejected or expired
  4  finished, but some lines were refused
  5  events were accepted, and none of them was delivered
  7  stopped before all of the input was read and all events had ended
If several apply, the first of 1, 5, 7, 3, 4 is given.`

/** The code that a run ends with. `cut` says that reading was stopped before the end of the input. */
export const exitCodeOf = (summary: Summary, cut: boolean): number => {
  const { accepted, delivered, rejected, expired, dropped, abandoned, waiting, refused } = summary
  if (accepted > 0 && delivered === 0) return NOTHING
  if (cut || abandoned + waiting > 0) return STOPPED
  if (rejected + expired + dropped > 0) return DEAD
  return refused > 0 ? REFUSED : FINE
}
