/**
 * What happens inside a pipeline, as one union. Counters, logs, diagnostics and tests all read the same values.
 *
 * @module
 */

import diagnostics from 'node:diagnostics_channel'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Failure, Receipt } from '../core/failure.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Refusal } from '../core/refusal.ts'
import { CHANNEL_NAMES } from './channel.ts'
import type { Listening } from './listeners.ts'

/** Turned away at the door. */
export interface Refused {
  readonly _tag: 'Refused'
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
export interface UrlSkipped {
  readonly _tag: 'UrlSkipped'
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
export interface UnknownKeys {
  readonly _tag: 'UnknownKeys'
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
export type LogEvent = Refused | UnknownKeys | Accepted | Attempted | UrlSkipped | Waiting | Ended | Defect

/** Is told what happens. It must be quick; if it throws, nobody is harmed. */
export type Listener = (event: LogEvent) => void

const channelOf = (tag: LogEvent['_tag']): diagnostics.Channel => diagnostics.channel(CHANNEL_NAMES[tag])

/** Found once: to look a channel up for each message can be felt. */
const channels: Readonly<Record<LogEvent['_tag'], diagnostics.Channel>> = {
  Refused: channelOf('Refused'),
  UnknownKeys: channelOf('UnknownKeys'),
  Accepted: channelOf('Accepted'),
  Attempted: channelOf('Attempted'),
  UrlSkipped: channelOf('UrlSkipped'),
  Waiting: channelOf('Waiting'),
  Ended: channelOf('Ended'),
  Defect: channelOf('Defect'),
}

/**
 * Whether anybody beside the logger would hear of such a happening: the host's `onEvent`, the runtime log, or a subscriber of its channel.
 * What nobody hears need not be made, which can be felt where there is one for each message. `DEBUG` is read once, as `debugListener`
 * does.
 */
export const isListening = ({ onEvent }: Listening): ((tag: LogEvent['_tag']) => boolean) => {
  const debug = process.env['DEBUG']
  if (onEvent !== undefined || (debug !== undefined && debug !== '')) return () => true
  return (tag) => channels[tag].hasSubscribers
}

const frameOf = ({ stack = '', message }: Error): string => {
  // The message stands in the stack as well, and may be of many lines.
  const frames = stack.slice(stack.indexOf(message) + message.length)
  const first = /\n\s+at (.+)/.exec(frames)?.[1]
  return first === undefined ? '' : ` at ${first}`
}

const codeOf = (error: Error): string =>
  'code' in error && typeof error.code === 'string' ? ` (${error.code})` : ''

/**
 * What kind of error it is and where it came from, without its message: what a host's code or `JSON.parse` throws may quote the
 * payload or a secret. Whoever may see that subscribes to `headrace:defect`, and has the error itself.
 */
export const kindOf = (error: unknown): string => {
  try {
    return error instanceof Error ? error.name + codeOf(error) + frameOf(error) : `a thrown ${typeof error}`
  } catch {
    return 'an error that cannot be read'
  }
}
