/**
 * A message as senders write it, made ready for the codec: what the public convention allows beyond our own call form.
 *
 * @module
 */

import * as Limits from '../event/limits.ts'
import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { isPromiseLike } from '../core/awaitable.ts'
import type { Awaitable } from '../core/awaitable.ts'
import type { Clock } from '../core/clock.ts'
import { isRecord } from '../core/json.ts'
import type { Fields } from '../core/json.ts'
import { invalid, tooLarge, closed } from '../core/refusal.ts'
import type { Refusal } from '../core/refusal.ts'
import { encoderOf } from '../destination/encoder.ts'
import type { Event } from '../event/event.ts'
import type { Kind } from '../event/kinds.ts'
import type { EventPayload } from '../event/payload.ts'
import type { Source } from './collector.ts'
import type { Tally } from './counters.ts'
import { route } from './route.ts'
import type { StorageFailure, Share, Storage } from './storage.ts'

/** What is said for a message from outside of it. */
export interface Defaults {
  /** Its kind: the path says it (CO4). */
  readonly type?: Kind
  /** Of the batch; the message's own keys win. */
  readonly context?: Fields | undefined
  readonly integrations?: Fields | undefined
}

/** The message's own keys over the batch's; what is no object is left for the codec to complain of. */
const under = (defaults: Fields, own: unknown): unknown => {
  if (own === undefined || own === null) return defaults
  return isRecord(own) ? { ...defaults, ...own } : own
}

/**
 * A message with all that is said for it: its kind, the batch's context and integrations, and `originalTimestamp` where it has no
 * `timestamp` (EV5). Never changes what it is given; answers the same object when there is nothing to add.
 */
export const completed = (message: unknown, { type, context, integrations }: Defaults): unknown => {
  if (!isRecord(message)) return message
  const { timestamp, originalTimestamp } = message
  const dated = timestamp !== undefined && timestamp !== null
  const borrows = !dated && originalTimestamp !== undefined && originalTimestamp !== null
  if (type === undefined && context === undefined && integrations === undefined && !borrows) return message
  return {
    ...message,
    ...(type === undefined ? undefined : { type }),
    ...(context === undefined ? undefined : { context: under(context, message['context']) }),
    ...(integrations === undefined
      ? undefined
      : { integrations: under(integrations, message['integrations']) }),
    ...(borrows ? { timestamp: originalTimestamp } : undefined),
  }
}

/** Without members that are null, as senders in other languages write what they do not know; undefined if there are none. */
export const withoutNulls = (message: unknown): unknown => {
  if (!isRecord(message)) return undefined
  const entries = Object.entries(message)
  const known = entries.filter(([, value]) => value !== null)
  return known.length < entries.length ? Object.fromEntries(known) : undefined
}

/** The id that a message brings, if it is one that could be right: to name it by when it is refused. */
export const idOf = (message: unknown): string | undefined => {
  const id = isRecord(message) ? message['messageId'] : undefined
  return typeof id === 'string' && id !== '' ? id.slice(0, LONGEST_ID) : undefined
}

const LONGEST_ID = 256

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

/** Messages of a source that came together. */
export interface Lot extends Parcel {
  readonly source: Source
  readonly messages: ReadonlyArray<unknown>
}

/** A message that was refused, by its place among those that came with it. */
export interface Refused {
  readonly index: number
  readonly refusal: Refusal
}

/** What became of a lot. */
export interface Taken {
  readonly refused: ReadonlyArray<Refused>
  /** Set if something could not be kept, though nothing is wrong with it: whoever sent the lot must send it again. */
  readonly trouble: StorageFailure | undefined
  /** The id of the last message that was accepted. */
  readonly id: string | undefined
}

/** What an intake works with. */
export interface IntakeOptions {
  readonly encode: EncodeMessage
  readonly storage: Storage
  readonly tally: Tally
  readonly isClosing: () => boolean
  /** Is told each refusal. */
  readonly onRefused: (refusal: Refusal) => void
}

/**
 * Takes lots in: encodes each message once (BY3), routes it (CO1) and brings it to its destinations. Answers when all that it accepted is in
 * their keeping, at once if their outboxes do. One bad message takes nothing from the others. Never throws.
 */
export const intake =
  ({ encode, storage, tally, isClosing, onRefused }: IntakeOptions) =>
  (lot: Lot): Awaitable<Taken> => {
    const { source, messages } = lot
    const refused: Refused[] = []
    const good: Share[] = []
    const indexes: number[] = []
    let unrouted = 0
    let trouble: StorageFailure | undefined

    const refuse = (index: number, refusal: Refusal): void => {
      refused.push({ index, refusal })
      tally.refused(source, refusal)
      onRefused(refusal)
    }

    /** Nothing of it is kept. */
    const refuseAll = (why: StorageFailure): Taken => {
      for (const index of indexes) refuse(index, { ...why, input: messages[index] })
      return { refused, trouble: why, id: undefined }
    }

    for (let index = 0; index < messages.length; index++) {
      const encoded = encode(messages[index], lot)
      if (isLeft(encoded)) {
        refuse(index, encoded.left)
      } else {
        const payload = encoded.right
        const places = route(source.places, payload.items[0])
        if (places.length === 0) unrouted++
        good.push({ payload, places })
        indexes.push(index)
      }
    }
    if (isClosing()) return refuseAll(closed(undefined))
    const lacking = storage.lacksRoom(good)
    if (lacking !== undefined) return refuseAll(lacking)

    const settle = (position: number, failure: StorageFailure | undefined): void => {
      if (failure === undefined) return
      trouble ??= failure
      const index = indexes[position] ?? 0
      refuse(index, { ...failure, input: messages[index] })
    }

    const conclude = (): Taken => {
      tally.accepted(source, messages.length - refused.length, unrouted)
      return { refused, trouble, id: good.at(-1)?.payload.id }
    }

    const open: Array<PromiseLike<void>> = []
    good.forEach((share, position) => {
      const failure = storage.store(share)
      if (isPromiseLike(failure)) {
        open.push(
          failure.then((answer) => {
            settle(position, answer)
          }),
        )
      } else {
        settle(position, failure)
      }
    })
    return open.length === 0 ? conclude() : Promise.all(open).then(conclude)
  }
