/** Events inside a pipeline, as one union. Counters, logs, diagnostics and tests all read the same values. */
import { valueOr, type Either } from '../core/either.ts'
import { MESSAGE, codeOf, isError, messageOf, retryable } from '../core/failure.ts'
import type { Failure, Receipt, Retryable } from '../core/failure.ts'
import { flat } from '../core/json.ts'
import type { Outcome } from '../core/outcome.ts'
import { ConfigError, ShownError, UnfitAnswer, type Refusal, type Threw } from '../core/refusal.ts'

/** Of each log event: milliseconds since 1970, and the name of its part. @inline */
export interface Told {
  readonly at: number
  readonly from: string
}

/** An input was refused, or a function of a pipeline threw: it is not accepted. @inline */
export interface NotAccepted extends Told {
  readonly _tag: 'NotAccepted'
  readonly refusal: Refusal | Threw
}

/** An item is in the outbox. @inline */
export interface Accepted extends Told {
  readonly _tag: 'Accepted'
  readonly item: unknown
}

/** One sink's attempt has its verdict. @inline */
export interface Attempted extends Told {
  readonly _tag: 'Attempted'
  readonly item: unknown
  readonly sink: string
  /** 1 for the first. */
  readonly number: number
  /** On the clock of `at`. */
  readonly startedAt: number
  /** Milliseconds from the start of the attempt to its verdict. */
  readonly duration: number
  readonly result: Either<Failure, Receipt>
  /** Milliseconds past the deadline of the item, if the attempt ended after it. */
  readonly late?: number
}

/** The queue of this sink was full, so it was left out of this attempt. @inline */
export interface UrlSkipped extends Told {
  readonly _tag: 'UrlSkipped'
  readonly item: unknown
  readonly sink: string
  readonly number: number
}

/** An attempt failed; the item waits for the next. @inline */
export interface Waiting extends Told {
  readonly _tag: 'Waiting'
  readonly item: unknown
  /** Attempts so far. */
  readonly attempts: number
  readonly failure: Failure
  /** Milliseconds from now. */
  readonly delay: number
  /** The cause of the delay: `exponential from 1s x2, full jitter`, `Retry-After`, `rate`, `circuit`. */
  readonly because: string
}

/** An item has its outcome. @inline */
export interface Ended extends Told {
  readonly _tag: 'Ended'
  readonly outcome: Outcome<unknown>
}

/** An event had top-level keys that no event has; they were left out. @inline */
export interface UnknownKeys extends Told {
  readonly _tag: 'UnknownKeys'
  readonly keys: ReadonlyArray<string>
}

/** A sink, a store, a callback or a subscriber threw by mistake. No item was lost. @inline */
export interface Defect extends Told {
  readonly _tag: 'Defect'
  readonly where: string
  readonly error: unknown
}

/**
 * An event inside a pipeline. `at` is milliseconds since 1970, `from` the name of its part.
 *
 * `Redriven`: dead letters wait again. `Restored`: the store is open, and held items of an earlier process.
 * Both count as accepted. `Corrupt`: a stored record cannot be read; it is a dead letter, and counts as
 * rejected. `Held`: a gate holds an item back, this sink is not asked before `until` (milliseconds since
 * 1970). `Skipped`: `splitRight` made no part of an item, or `filterRight` left it out.
 */
export type LogEvent =
  | NotAccepted
  | UnknownKeys
  | Accepted
  | (Told & { readonly _tag: 'Redriven'; readonly ids: ReadonlyArray<string> })
  | (Told & { readonly _tag: 'Restored'; readonly count: number })
  | (Told & { readonly _tag: 'Corrupt'; readonly id: string })
  | (Told & { readonly _tag: 'Skipped'; readonly item: unknown })
  | (Omit<UrlSkipped, '_tag'> & {
      readonly _tag: 'Held'
      readonly until: number
      readonly because: 'Retry-After' | 'rate' | 'circuit'
    })
  | Attempted
  | UrlSkipped
  | Waiting
  | Ended
  | Defect

/** Receives every log event. It must be quick. If it throws, the delivery goes on. */
export type Listener = (event: LogEvent) => void

const frameOf = ({ stack = '', message }: Error): string => {
  // The message is part of the stack, and may have many lines.
  return /\n[ \t]+(at .+)/.exec(stack.slice(stack.indexOf(message) + message.length))?.[1] ?? ''
}

/**
 * The kind of an error and its place, without its message, which may quote the payload or a secret. Ours
 * quote none.
 */
export const errorKind = (error: unknown): string =>
  valueOr('an error that cannot be read', () => {
    if (!isError(error)) return `a thrown ${typeof error}`
    const isOurs = error instanceof ShownError || error instanceof UnfitAnswer
    // A ConfigError with a cause quotes what a function of the host threw.
    if (isOurs && !(error instanceof ConfigError && error.cause)) return `${error.name}: ${error.message}`
    const code = codeOf(error)
    return `${error.name}${code && ` (${code})`} ${frameOf(error)}`.trimEnd()
  })

/** The failure of an error of a host's code. Its message comes last, where `show` cuts it off. */
export const thrown = (reason: 'threw' | 'defect', error: unknown): Retryable => {
  const kind = errorKind(error)
  const message = messageOf(error)
  return retryable(reason, { detail: kind.endsWith(message) ? kind : flat(kind + MESSAGE + message) })
}
