import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Clock } from '../clock/Clock.ts'
import { encoderOf } from '../destination/encoderOf.ts'
import type { Event } from '../event/Event.ts'
import * as Limits from '../event/Limits.ts'
import type { EventPayload } from '../event/Payload.ts'
import { invalid, tooLarge } from '../outcome/Refusal.ts'
import type { Refusal } from '../outcome/Refusal.ts'
import { completed, withoutNulls } from './Message.ts'
import type { Defaults } from './Message.ts'

/** How messages become payloads. */
export interface EncodingOptions {
  readonly clock: Clock
  /** Bytes of a message's JSON, and of the body that is forwarded (BY2). */
  readonly maxMessage: number
  readonly maxBody: number
  readonly newId?: (() => string) | undefined
  /** Is told the keys that a message lost (EV3). */
  readonly onDropped?: ((keys: ReadonlyArray<string>) => void) | undefined
  /** Whether anybody would listen. Default: always. */
  readonly hearsDropped?: (() => boolean) | undefined
}

/** What is known of messages that came together. */
export interface Parcel {
  readonly defaults: Defaults
  /** Whether they come straight from `JSON.parse`, and nobody else holds them. */
  readonly owned: boolean
  /** Bytes of the text in which they came; `Infinity` if they came in none. */
  readonly size: number
}

/** Makes the payload of a message once for all destinations (BY1), or says why not. Never throws, whatever a message from code does. */
export type EncodeMessage = (message: unknown, parcel: Parcel) => Either<Refusal, EventPayload<Event>>

/**
 * What is left of `budget` bytes after the JSON of some data; below zero if that may need more, or is nested deeper than an event may be,
 * which would go too deep for us too. An upper bound, and quick.
 */
const leftOf = (budget: number, value: unknown, deeper = Limits.nesting): number => {
  if (typeof value === 'string') return budget - 6 * value.length - 3
  if (typeof value !== 'object' || value === null) return budget - 26
  if (deeper === 0) return -1
  let rest = budget - 2
  if (Array.isArray(value)) {
    for (const each of value) {
      rest = leftOf(rest, each, deeper - 1)
      if (rest < 0) return rest
    }
    return rest
  }
  // Not `Object.entries`: a list for each pair was a tenth of all that a message leaves to the garbage collector.
  for (const key in value) {
    // Sound for every object: it is read by a key that it has, and what stands there stays unknown.
    const each = (value as Readonly<Record<string, unknown>>)[key]
    rest = leftOf(rest - 6 * key.length - 3, each, deeper - 1)
    if (rest < 0) return rest
  }
  return rest
}

/** The bytes of a message as JSON if they may be more than `limit`, else 0; undefined if it is nested too deeply to be written. */
const sizeBeyond = (message: unknown, limit: number, { owned, size }: Parcel): number | undefined => {
  if (size <= limit || (owned && leftOf(limit, message) >= 0)) return 0
  try {
    return Buffer.byteLength(JSON.stringify(message))
  } catch (error) {
    // The stack was not enough: nobody can say how long it is.
    if (error instanceof RangeError) return undefined
    // A key that no event has cannot be written. It is left out, and what is kept has a limit of its own.
    return 0
  }
}

const noDeletion = (message: unknown): Refusal =>
  invalid(message, [{ path: 'type', message: 'must not be delete here: post deletions to /v1/delete' }])

const tooDeep = (message: unknown): Refusal =>
  invalid(message, [
    { path: '', message: `must not be nested much deeper than ${String(Limits.nesting)} levels, in any key` },
  ])

const unreadable = (message: unknown): Refusal =>
  invalid(message, [{ path: '', message: 'could not be read: give plain data' }])

/** Makes the encoder of a collector. */
export const encoding = ({ maxMessage, ...options }: EncodingOptions): EncodeMessage => {
  const encodeOwned = encoderOf({ ...options, owned: true })
  const encodeForeign = encoderOf(options)

  const encoded: EncodeMessage = (message, parcel) => {
    const encode = parcel.owned ? encodeOwned : encodeForeign
    let made = encode(completed(message, parcel.defaults))
    if (isLeft(made)) {
      // Only now, for it is the rare case: what is null is always refused, and means absent.
      const known = withoutNulls(message)
      if (known !== undefined) made = encode(completed(known, parcel.defaults))
      if (isLeft(made)) return left({ ...made.left, input: message })
    }
    const { id, items } = made.right
    if (items[0].type === 'delete' && parcel.defaults.type !== 'delete') return left(noDeletion(message))
    const size = sizeBeyond(message, maxMessage, parcel)
    if (size === undefined) return left(tooDeep(message))
    return size > maxMessage ? left(tooLarge(message, maxMessage, size, id)) : made
  }

  return (message, parcel) => {
    try {
      return encoded(message, parcel)
    } catch {
      // A getter of a message from code may throw; one bad message takes nothing from the others.
      return left(unreadable(message))
    }
  }
}
