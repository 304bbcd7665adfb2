/** Limits. KB is 1,000 bytes for bodies that we send: a receiver takes them however it reads "32 KB". */

/** Bytes of UTF-8 JSON of one call. */
export const callBytes = 32_000

/** Bytes of the body of a batch, frame and commas included. */
export const batchBytes = 500_000

/** Bytes of a body that is posted to a webhook: it can be a little longer than the call. */
export const bodyBytes = 64_000

/** Bytes of one call that a collector accepts: 32 KB of 1,024 bytes. */
export const receivedCallBytes = 32_768

/** Bytes of a batch that a collector accepts: 500 KB of 1,024 bytes. */
export const receivedBatchBytes = 512_000

/** Objects and arrays inside one another, the event being the first. Some receivers fail on deeper ones. */
export const nesting = 256

/** Values in one event, to bound a copy's work. Each takes 2 bytes of JSON or more: no body has more. */
export const values = 250_000

/** Faults that are named at once. */
export const findings = 1_000

/** Characters of a message id that the caller gives. */
export const messageIdLength = 256
