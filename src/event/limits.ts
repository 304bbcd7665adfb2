/**
 * What is allowed, as named constants. KB is 1,000 bytes for what we send, so that a receiver enforcing either reading of
 * "32 KB" and "500 KB" accepts it (BY2).
 *
 * @module
 */

/** Bytes of UTF-8 JSON of one call (BY2, seed/Limits: 32 KB). */
export const callBytes = 32_000

/** Bytes of a batch's body, envelope and commas included (BY2, seed/Limits: 500 KB). */
export const batchBytes = 500_000

/** Bytes of a body forwarded to a webhook: the wire form can be a little longer than the call (BY2). */
export const bodyBytes = 64_000

/** Bytes of one call that a collector takes in: the larger reading of 32 KB (BY2). */
export const receivedCallBytes = 32_768

/** Bytes of a batch that a collector takes in: the larger reading of 500 KB (BY2). */
export const receivedBatchBytes = 512_000

/** Objects and arrays inside one another, the event itself being the first. Deeper ones break receivers (EV9, webhooks part 4). */
export const nesting = 256

/**
 * Values in one event. Every value takes two bytes or more of JSON, so more than this cannot fit in any body of ours; it
 * stops an object that names its own parts again and again from being spelt out for ever (EV9).
 */
export const values = 250_000

/** Faults that are named at once (EV7). Nobody reads more, and an object without end has faults without end. */
export const findings = 1_000

/** Characters of a message id that is brought along (CO4). */
export const messageIdLength = 256
