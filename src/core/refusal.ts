/**
 * The reason of a refusal, with its input. A refused item was never accepted, so it has no outcome.
 *
 * @module
 */

import { nameOf } from './failure.ts'
import { isRecord } from './json.ts'

/** One thing wrong with one field. */
export interface Fault {
  /** The path in the input: `properties.url`, `[3].userId`; empty for the input itself. */
  readonly path: string
  /** The fault and its correction; never a secret. */
  readonly message: string
}

/** Of each refusal. @inline */
interface OfInput {
  readonly input: unknown
}

/** The input is not valid. Every fault is named. */
export interface Invalid extends OfInput {
  readonly _tag: 'Invalid'
  readonly faults: ReadonlyArray<Fault>
}

/** Encoded, it has more bytes than are allowed. */
export interface TooLarge extends OfInput {
  readonly _tag: 'TooLarge'
  readonly limit: number
  readonly size: number
  readonly id: string | undefined
}

/** As much is waiting as the bound allows. Try again when there is room. */
export interface Full extends OfInput {
  readonly _tag: 'Full'
  readonly bound: 'count' | 'bytes'
  readonly limit: number
}

/** It was switched off. */
export interface Disabled extends OfInput {
  readonly _tag: 'Disabled'
}

/** It was closed. */
export interface Closed extends OfInput {
  readonly _tag: 'Closed'
}

/** The outbox, `newId` or the clock failed. The item may be stored: offered again it may come twice. */
export interface NotStored extends OfInput {
  readonly _tag: 'NotStored'
  /** The message of the outbox. */
  readonly detail: string
}

/** A function of the pipeline threw, or its promise rejected. */
export interface Threw extends OfInput {
  readonly _tag: 'Threw'
  /** The operator that called it. */
  readonly operator: string
  readonly error: unknown
}

/** An answer that the operator cannot use. Its message holds nothing of the item, so it is shown. */
export class UnfitAnswer extends TypeError {}

/** An error of our own, whose message holds nothing of an item and no secret, so it is shown. */
export class ShownError extends Error {}

/** Why something was refused. */
export type Refusal = Invalid | TooLarge | Full | Disabled | Closed | NotStored

const TAGS = new Set<unknown>(['Invalid', 'TooLarge', 'Full', 'Disabled', 'Closed', 'NotStored', 'Threw'])

/** Whether a value at the end of a pipeline was refused, or costs its item because a function threw. */
export const isRefusal = (each: unknown): each is Refusal | Threw => isRecord(each) && TAGS.has(each['_tag'])

export const invalid = (input: unknown, faults: ReadonlyArray<Fault>): Invalid => {
  return { _tag: 'Invalid', faults, input }
}
export const tooLarge = (input: unknown, limit: number, size: number, id: string | undefined): TooLarge => {
  return { _tag: 'TooLarge', limit, size, id, input }
}
/** For an outbox of your own: it has no room for `input`, by its `limit` in count or in bytes. */
export const full = (input: unknown, bound: Full['bound'], limit: number): Full => {
  return { _tag: 'Full', bound, limit, input }
}
/** The bounds of a queue or a store. @inline */
export interface Bounds {
  readonly maxCount: number
  readonly maxBytes: number
}

/** The refusal if `count` others fill the bounds, or if `bytes`, the input's among them, exceed them. */
export const fullIn = (input: unknown, count: number, bytes: number, { maxCount, maxBytes }: Bounds) => {
  if (count >= maxCount) return full(input, 'count', maxCount)
  return bytes > maxBytes ? full(input, 'bytes', maxBytes) : undefined
}

export const disabled = (input: unknown): Disabled => ({ _tag: 'Disabled', input })
export const notStored = (input: unknown, detail: string): NotStored => ({ _tag: 'NotStored', detail, input })
export const threw = (input: unknown, operator: string, error: unknown): Threw => {
  return { _tag: 'Threw', operator, error, input }
}
export const closed = (input: unknown): Closed => ({ _tag: 'Closed', input })

/** Faults in a line: a small event may have a thousand, each with a long path. */
const MAX_IN_LINE = 20

/** One line. */
export const show = (refusal: Refusal | Threw): string => {
  switch (refusal._tag) {
    case 'Invalid': {
      const shown = refusal.faults.slice(0, MAX_IN_LINE)
      const texts = shown.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
      const more = refusal.faults.length - shown.length
      return more > 0 ? `${texts.join('; ')}; and ${String(more)} more` : texts.join('; ')
    }
    case 'TooLarge':
      return `${String(refusal.size)} bytes, the limit is ${String(refusal.limit)}: send less with the event`
    case 'Full': {
      const limit = `${String(refusal.limit)} ${refusal.bound === 'count' ? 'items' : 'bytes'}`
      return `the queue is full (limit ${limit}): wait for room, by ready() or pull`
    }
    case 'Disabled':
      return 'switched off with enabled: false, or disable() of a destination'
    case 'NotStored':
      return `it could not be stored: ${refusal.detail}`
    case 'Threw': {
      const { operator, error } = refusal
      if (error instanceof UnfitAnswer) return `the function of ${operator} ${error.message}`
      // The message of an error may quote the item.
      return `the function of ${operator} threw ${nameOf(error)}`
    }
    case 'Closed':
      return 'closed: it accepts no more items'
  }
}

const UNKNOWN_OPTION = 'unknown option'

/** The message of a fault for a key that no option has; its path names the key. */
export const unknownOption = (known: ReadonlyArray<string> = []): string =>
  known.length === 0 ? UNKNOWN_OPTION : `${UNKNOWN_OPTION} (the options are ${known.join(', ')})`

/** One fault in one line: `maxCount must be a whole number from 1`, `unknown option "host"`. */
export const faultText = ({ path, message }: Fault): string => {
  if (message.startsWith(UNKNOWN_OPTION))
    return message.replace(UNKNOWN_OPTION, () => `${UNKNOWN_OPTION} ${JSON.stringify(path)}`)
  return path === '' ? message : `${path} ${message}`
}

/**
 * Thrown by constructors for wrong options or settings, before anything runs. `code` is stable; `faults`
 * names every fault, and no secret.
 */
export class ConfigError extends ShownError {
  override readonly name = 'ConfigError'
  readonly code = 'HEADRACE_CONFIG'
  readonly faults: ReadonlyArray<Fault>

  constructor(what: string, faults: ReadonlyArray<Fault>) {
    super(`${what}: ${faults.map(faultText).join('; ')}`)
    this.faults = faults
  }
}
