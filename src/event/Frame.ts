/**
 * Envelopes for batches. A batch knows its envelope while it is filled, so its bytes are exact beforehand (BY2).
 *
 * @module
 */
import type { Frame } from './Payload.ts'

/**
 * An envelope that never changes: text before the members and text after them. One that writes the time of sending into
 * itself is a `Frame` too, as long as every moment has the same width.
 *
 * @example
 * import { envelope } from 'headrace'
 * console.log(envelope({ before: '{"batch":[', after: ']}' }).size) // => 12
 */
export const envelope = (text: { readonly before: string; readonly after: string }): Frame => ({
  size: Buffer.byteLength(text.before) + Buffer.byteLength(text.after),
  before: () => text.before,
  after: () => text.after,
})

/** `[…]`: the body is a JSON array of the members. */
export const jsonArrayFrame: Frame = envelope({ before: '[', after: ']' })
