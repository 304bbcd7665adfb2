/**
 * What happens inside a pipeline, as one union. Counters, logs, diagnostics and tests all read the same values.
 *
 * @module
 */
import type { Either } from 'fp-ts/lib/Either.js'
import type { Failure } from '../outcome/Failure.ts'
import type { Outcome } from '../outcome/Outcome.ts'
import type { Receipt } from '../outcome/Receipt.ts'
import type { Refusal } from '../outcome/Refusal.ts'

/** Turned away at the door. */
export interface RefusedAtDoor {
  readonly _tag: 'RefusedAtDoor'
  readonly at: number
  readonly refusal: Refusal
}

/** Taken into keeping. */
export interface Accepted {
  readonly _tag: 'Accepted'
  readonly at: number
  readonly item: unknown
}

/** One sink's attempt has its verdict. */
export interface Attempted {
  readonly _tag: 'Attempted'
  readonly at: number
  readonly item: unknown
  readonly sink: string
  /** 1 for the first. */
  readonly number: number
  /** Milliseconds from the start of the attempt to its verdict. */
  readonly duration: number
  readonly result: Either<Failure, Receipt>
}

/** A lane was full, so this sink was left out of this round. */
export interface PassedOver {
  readonly _tag: 'PassedOver'
  readonly at: number
  readonly item: unknown
  readonly sink: string
  readonly number: number
}

/** The round failed; the item waits for the next. */
export interface Waiting {
  readonly _tag: 'Waiting'
  readonly at: number
  readonly item: unknown
  /** Attempts so far. */
  readonly attempts: number
  readonly failure: Failure
  /** Milliseconds from now. */
  readonly delay: number
  /** What set the delay, in words: `exponential 1s x2, full jitter` or `Retry-After`. */
  readonly because: string
}

/** It has its outcome. */
export interface Ended {
  readonly _tag: 'Ended'
  readonly at: number
  readonly outcome: Outcome<unknown>
}

/** An event had top-level keys that no event has; they were left out (EV3). */
export interface KeysDropped {
  readonly _tag: 'KeysDropped'
  readonly at: number
  readonly keys: ReadonlyArray<string>
}

/** Something threw that should not have: a sink, a store, a callback, a subscriber. Nothing was lost by it. */
export interface Defect {
  readonly _tag: 'Defect'
  readonly at: number
  readonly where: string
  readonly error: unknown
}

/** What happens inside a pipeline. `at` is milliseconds since 1970. */
export type Happening =
  RefusedAtDoor | KeysDropped | Accepted | Attempted | PassedOver | Waiting | Ended | Defect

/** Is told what happens. It must be quick; if it throws, nobody is harmed. */
export type Tell = (happening: Happening) => void
