/**
 * Events inside a pipeline, as one union. Counters, logs, diagnostics and tests all read the same values.
 *
 * @module
 */

import type { Either } from 'fp-ts/lib/Either.js'
import { codeOf, valueOr, type Failure, type Receipt } from '../core/failure.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Refusal } from '../core/refusal.ts'

/** An input was refused: it is not accepted. @inline */
export interface NotAccepted {
  readonly _tag: 'NotAccepted'
  readonly at: number
  readonly refusal: Refusal
}

/** An item is in the outbox. @inline */
export interface Accepted {
  readonly _tag: 'Accepted'
  readonly at: number
  readonly item: unknown
}

/** One sink's attempt has its verdict. @inline */
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
  /** Milliseconds past the deadline of the item, if the attempt ended after it. */
  readonly late?: number
}

/** The queue of this sink was full, so it was left out of this attempt. @inline */
export interface UrlSkipped {
  readonly _tag: 'UrlSkipped'
  readonly at: number
  readonly item: unknown
  readonly sink: string
  readonly number: number
}

/** An attempt failed; the item waits for the next. @inline */
export interface Waiting {
  readonly _tag: 'Waiting'
  readonly at: number
  readonly item: unknown
  /** Attempts so far. */
  readonly attempts: number
  readonly failure: Failure
  /** Milliseconds from now. */
  readonly delay: number
  /** The cause of the delay, in words: `exponential from 1s x2, full jitter` or `Retry-After`. */
  readonly because: string
}

/** An item has its outcome. @inline */
export interface Ended {
  readonly _tag: 'Ended'
  readonly at: number
  readonly outcome: Outcome<unknown>
}

/** An event had top-level keys that no event has; they were left out. @inline */
export interface UnknownKeys {
  readonly _tag: 'UnknownKeys'
  readonly at: number
  readonly keys: ReadonlyArray<string>
}

/** A sink, a store, a callback or a subscriber threw and should not. Nothing was lost by it. @inline */
export interface Defect {
  readonly _tag: 'Defect'
  readonly at: number
  readonly where: string
  readonly error: unknown
}

/** An event inside a pipeline. `at` is milliseconds since 1970. */
export type LogEvent =
  NotAccepted | UnknownKeys | Accepted | Attempted | UrlSkipped | Waiting | Ended | Defect

/** Receives every log event. It must be quick. If it throws, the delivery goes on. */
export type Listener = (event: LogEvent) => void

const frameOf = ({ stack = '', message }: Error): string => {
  // The message is part of the stack, and may have many lines.
  const frames = stack.slice(stack.indexOf(message) + message.length)
  return /\n[ \t]+(at .+)/.exec(frames)?.[1] ?? ''
}

/** The kind of an error and its place, without its message, which may quote the payload or a secret. */
export const errorKind = (error: unknown): string =>
  valueOr('an error that cannot be read', () => {
    if (!(error instanceof Error)) return `a thrown ${typeof error}`
    const code = codeOf(error)
    return `${error.name}${code && ` (${code})`} ${frameOf(error)}`.trimEnd()
  })
