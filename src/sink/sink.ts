/**
 * Where items are delivered. The doc blocks here are the contract of a sink; the sink laws test it.
 *
 * @module
 */

import type { Observable } from 'rxjs'
import type { Either } from '../core/either.ts'
import { steady, systemClock, type Clock } from '../core/clock.ts'
import type { Failure, Receipt } from '../core/failure.ts'
import { hasFunctions } from '../core/json.ts'
import { guarded, type WaitOptions } from '../core/options.ts'
import type { Listener } from '../log/logEvent.ts'

/**
 * What the sinks of one attempt share: a place for work, which `post` uses, and whether they only
 * wait in queues. It goes with the attempt, so an item that waits for its retry holds nothing.
 */
export const SHARED: unique symbol = Symbol('headrace.shared')

export const newShared = (work?: unknown) => ({ work, isQueued: false, isStarted: false })

/** Which attempt this is. A sink may ignore it; a layer must pass it on. */
export interface Attempt {
  /** 1 for the first attempt. */
  readonly number: number
  /** Milliseconds since 1970: nothing starts at or after this moment. `Infinity` if there is no deadline. */
  readonly until: number
  /** How the last attempt failed; undefined at the first. */
  readonly lastFailure: Failure | undefined
  /** The clock on which it runs. Default: the machine's. */
  readonly clock?: Clock | undefined
  /** Receives the log events of this attempt, each once. Undefined if nothing listens. */
  readonly report?: Listener | undefined
  /** The part that makes the attempt: `from` of its log events. Default `sink`. */
  readonly from?: string | undefined
  /** Headers that layers add to the request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** @internal */
  readonly [SHARED]?: ReturnType<typeof newShared> | undefined
}

/** The attempt to give when there is no retry around: the first, with no deadline. */
export const onlyAttempt: Attempt = { number: 1, until: Infinity, lastFailure: undefined }

export const clockOf = ({ clock = systemClock }: Attempt): Clock => clock

export const partOf = ({ from = 'sink' }: Attempt): string => from

/** The steady time of an attempt, to compare with its `until`; or that of a reading of its clock. */
export const nowOf = (attempt: Attempt, reading?: number): number => steady(clockOf(attempt))(reading)

/**
 * A place where items of type `A` are delivered.
 *
 * `deliver` is cold: nothing happens before it is subscribed, and each subscription is a delivery of its own.
 * It emits exactly one `Either` as soon as the verdict is known, and completes when nothing of the delivery
 * is left running (a webhook emits at its status and completes after the body is drained). Unsubscribing
 * cancels the rest. The error channel is for defects only. So `take(1)` and `firstValueFrom` cancel work
 * after the verdict: requests to siblings, the drain of a body. Deliveries may overlap without limit; wrap a
 * sink that cannot do that in `withConcurrency`.
 */
export interface Sink<in A> {
  /** Unique among siblings and stable across restarts: remembered failures are found by it. */
  readonly name: string
  /** One attempt for each subscription: emits the verdict, and completes when nothing of it runs. */
  readonly deliver: (item: A, attempt: Attempt) => Observable<Either<Failure, Receipt>>
  /**
   * Releases the sink's resources (sockets, files), in the time of `timeout`, on `clock` or else on that of
   * the machine. Idempotent. Layers pass it down; the code that made a sink closes it.
   */
  readonly close: (options?: WaitOptions & { readonly clock?: Clock }) => Promise<void>
}

/** Whether a value is a sink. The type of its items cannot be checked. */
export const isSink = <A>(value: unknown): value is Sink<A> =>
  hasFunctions(value, ['deliver', 'close']) && typeof value['name'] === 'string'

export const sinkOption = <A>() => guarded('a Sink, an object with name, deliver, close', isSink<A>)

/**
 * Adds behaviour around a sink of any item. Layers compose: `flow(withTimeout({ timeout: 5_000 }),
 * withConcurrency({ concurrency: 16 }))`.
 */
export type Layer = <A>(sink: Sink<A>) => Sink<A>
