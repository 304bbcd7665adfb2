/**
 * Where things go. The contract of a sink is in the doc blocks here, and the sink laws test it.
 *
 * @module
 */

import type { Either } from 'fp-ts/lib/Either.js'
import type { Task } from 'fp-ts/lib/Task.js'
import type { Observable } from 'rxjs'
import type { Failure, Receipt } from '../core/failure.ts'
import type { Payload, Signer } from '../event/payload.ts'

/** Which attempt this is. A sink may ignore it; a layer must pass it on. */
export interface Attempt {
  /** 1 for the first attempt. */
  readonly number: number
  /** Milliseconds since 1970: nothing may start at or after this moment (DE4). `Infinity` if there is no deadline. */
  readonly until: number
  /** How the last attempt failed; undefined at the first. */
  readonly lastFailure: Failure | undefined
  /** What the sinks of one round share; left out by who calls a sink by hand. */
  readonly round?: Round
}

/** The attempt to give when there is no retry around: the first, with no deadline. */
export const onlyAttempt: Attempt = { number: 1, until: Infinity, lastFailure: undefined }

/**
 * A place where items of type `A` are delivered.
 *
 * `deliver` is cold: nothing happens before it is subscribed, and each subscription is a delivery of its own. It emits
 * exactly one `Either` as soon as the verdict is known, and completes when nothing of the delivery is left running (a webhook
 * emits at its status and completes after the drain). Unsubscribing cancels what is left. The error channel is for defects
 * alone. So `take(1)` and `firstValueFrom` cancel what goes on after the verdict: requests to siblings, the drain of a body.
 * Deliveries may overlap without limit; a sink that cannot bear that is wrapped in `withConcurrency`.
 */
export interface Sink<in A> {
  /** Unique among siblings and stable across restarts: the memory of past causes is keyed by it. */
  readonly name: string
  readonly deliver: (item: A, attempt: Attempt) => Observable<Either<Failure, Receipt>>
  /**
   * Lets go of what the sink holds (sockets, files), within so many milliseconds. Idempotent. Layers pass it down; who
   * made a sink closes it.
   */
  readonly close: (within: number) => Task<void>
}

/** Adds behaviour around a sink, whatever it takes. Layers compose: `flow(withTimeout(5_000), withConcurrency({ concurrency: 16 }))`. */
export type Layer = <A>(sink: Sink<A>) => Sink<A>

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
