import type { Payload, Signer } from '../event/Payload.ts'

/**
 * A place where the sinks of one round keep what they can share: the body's bytes and its signature are made once, not once
 * for each URL. It is made by who starts the round and gone with it, so a message that waits for its retry holds neither.
 */
export interface Round {
  wire: Wire | undefined
}

/** A payload as it is on the wire in this round. */
export interface Wire {
  readonly payload: Payload<unknown>
  /** Its body. */
  readonly bytes: Uint8Array
  /** For a URL may have a secret of its own: one for each body and secret (DE10). A list: a `Map` of one took 570 bytes a body. */
  readonly signatures: Signed[]
}

/** What a signer made of the body. */
export interface Signed {
  readonly signer: Signer
  readonly signature: string
}
