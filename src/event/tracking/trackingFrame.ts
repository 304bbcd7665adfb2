import type { Frame } from '../Payload.ts'
import { fromMillis } from '../Timestamp.ts'

const BEFORE = '{"batch":['

/** The time of sending in the one form that is 24 characters at every moment; a clock that shows no such moment gets 1970. */
const after = (now: number): string => `],"sentAt":"${fromMillis(now) ?? '1970-01-01T00:00:00.000Z'}"}`

/**
 * The envelope of the public tracking convention: `{"batch":[…],"sentAt":"…"}`. The time of sending is written at each attempt, and
 * has a fixed width, so a batch's bytes are exact beforehand (BY1, CO5).
 *
 * @example
 * import { trackingFrame } from 'headrace'
 * console.log(trackingFrame.before(0) + trackingFrame.after(0)) // => {"batch":[],"sentAt":"1970-01-01T00:00:00.000Z"}
 */
export const trackingFrame: Frame = {
  size: BEFORE.length + after(0).length,
  before: () => BEFORE,
  after,
}
