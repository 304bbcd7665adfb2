/**
 * Messages as senders write them: completed, encoded, routed and stored.
 *
 * @module
 */

import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { isRecord } from '../core/json.ts'
import type { Fields } from '../core/json.ts'
import { closed, invalid, tooLarge } from '../core/refusal.ts'
import type { Refusal } from '../core/refusal.ts'
import { eventEncoder } from '../destination/record.ts'
import type { Event } from '../event/event.ts'
import type { Kind } from '../event/kinds.ts'
import * as Limits from '../event/limits.ts'
import type { EventPayload } from '../event/payload.ts'
import { route, store } from './route.ts'
import type { Routed, Source, StorageFailure, WhenFull } from './route.ts'
import type { CheckedCollectorOptions } from './settings.ts'

/** What came with a message, outside of it. */
export interface Origin {
  /** Its kind, if the path says it. */
  readonly type?: Kind | undefined
  /** Of the batch. The message's own keys win. */
  readonly context?: Fields | undefined
  readonly integrations?: Fields | undefined
  /** Whether it comes from `JSON.parse`, and need not be copied. */
  readonly owned: boolean
  /** Bytes of the text in which it came. `Infinity`: not known. */
  readonly size: number
}

/** The message's own keys over those of the batch. What is no object is left for the codec to refuse. */
const under = (defaults: Fields, own: unknown): unknown => {
  if (own === undefined || own === null) return defaults
  return isRecord(own) ? { ...defaults, ...own } : own
}

/** A message with what came beside it, and with its `originalTimestamp` if it has no `timestamp`. The same object if nothing is added. */
const completed = (message: unknown, { type, context, integrations }: Origin): unknown => {
  if (!isRecord(message)) return message
  const timestamp = message['timestamp'] ?? undefined
  const original = message['originalTimestamp'] ?? undefined
  const takesOriginal = timestamp === undefined && original !== undefined
  if (type === undefined && context === undefined && integrations === undefined && !takesOriginal)
    return message
  return {
    ...message,
    ...(type === undefined ? {} : { type }),
    ...(context === undefined ? {} : { context: under(context, message['context']) }),
    ...(integrations === undefined ? {} : { integrations: under(integrations, message['integrations']) }),
    ...(takesOriginal ? { timestamp: original } : {}),
  }
}

/** Without members that are null: SDKs in other languages write them for absent ones. Undefined if there are none. */
const withoutNulls = (message: unknown): unknown => {
  if (!isRecord(message)) return undefined
  const entries = Object.entries(message)
  const present = entries.filter(([, value]) => value !== null)
  return present.length < entries.length ? Object.fromEntries(present) : undefined
}

/**
 * `budget` minus the JSON bytes of a value; negative if it may have more bytes, or is nested too deeply. An upper bound, much faster than
 * writing the JSON.
 */
const remaining = (budget: number, value: unknown, depth = Limits.nesting): number => {
  if (typeof value === 'string') return budget - 6 * value.length - 3
  if (typeof value !== 'object' || value === null) return budget - 26
  if (depth === 0) return -1
  let rest = budget - 2
  if (Array.isArray(value)) {
    for (const each of value) {
      rest = remaining(rest, each, depth - 1)
      if (rest < 0) return rest
    }
    return rest
  }
  // Not `Object.entries`: its arrays were a tenth of all garbage of a message (measured).
  for (const key in value) {
    // Every object can be read by its own keys.
    const each = (value as Fields)[key]
    rest = remaining(rest - 6 * key.length - 3, each, depth - 1)
    if (rest < 0) return rest
  }
  return rest
}

/** The JSON bytes of a message, or 0 if they are surely within `limit`. Undefined: nested too deeply to be written. */
const sizeOf = (message: unknown, limit: number, { owned, size }: Origin): number | undefined => {
  if (size <= limit || (owned && remaining(limit, message) >= 0)) return 0
  try {
    return Buffer.byteLength(JSON.stringify(message))
  } catch (error) {
    if (error instanceof RangeError) return undefined
    // An unknown key that cannot be written is left out, and the rest has its own limit.
    return 0
  }
}

const wrong = (message: unknown, path: string, what: string): Either<Refusal, never> =>
  left(invalid(message, [{ path, message: what }]))

/** Makes the payload of a message, once for all its targets, or answers why not. Never throws. */
export type EncodeMessage = (message: unknown, origin: Origin) => Either<Refusal, EventPayload<Event>>

/** `onUnknownKeys` is given top-level keys that no event has. */
export const messageEncoder = (
  options: CheckedCollectorOptions,
  onUnknownKeys: (keys: ReadonlyArray<string>) => void,
): EncodeMessage => {
  const { maxMessage } = options
  const encodeOwned = eventEncoder(options, onUnknownKeys, true)
  const encodeCopy = eventEncoder(options, onUnknownKeys)

  const encode: EncodeMessage = (message, origin) => {
    const encodeEvent = origin.owned ? encodeOwned : encodeCopy
    let payload = encodeEvent(completed(message, origin))
    if (isLeft(payload)) {
      // Only here, because it is rare.
      const present = withoutNulls(message)
      if (present !== undefined) payload = encodeEvent(completed(present, origin))
      if (isLeft(payload)) return left({ ...payload.left, input: message })
    }
    const { id, items } = payload.right
    if (items[0].type === 'delete' && origin.type !== 'delete')
      return wrong(message, 'type', 'must not be delete here: post deletions to /v1/delete')
    const size = sizeOf(message, maxMessage, origin)
    if (size === undefined)
      return wrong(
        message,
        '',
        `must not be nested much deeper than ${String(Limits.nesting)} levels, in any key`,
      )
    return size > maxMessage ? left(tooLarge(message, maxMessage, size, id)) : payload
  }

  return (message, origin) => {
    try {
      return encode(message, origin)
    } catch {
      // A getter of a message from code may throw.
      return wrong(message, '', 'could not be read: give plain data')
    }
  }
}

/** A refused message, by its position in the request. */
export interface RefusedMessage {
  readonly index: number
  readonly refusal: Refusal
}

/** What became of messages that came together. */
export interface Ingested {
  readonly refused: ReadonlyArray<RefusedMessage>
  /** The first failure to store a valid message. The sender must send all of them again. */
  readonly failure: StorageFailure | undefined
  /** The id of the last valid message. */
  readonly id: string | undefined
}

/** Called with what is counted. */
export interface IngestCounters {
  readonly refused: (source: Source, refusal: Refusal) => void
  readonly accepted: (source: Source, count: number, unrouted: number) => void
}

/** Takes messages of a source that came together. Resolves when the accepted ones are stored. */
export type Ingest = (source: Source, messages: ReadonlyArray<unknown>, origin: Origin) => Promise<Ingested>

/** One bad message takes nothing from the others. Never rejects. */
export const ingester =
  (encode: EncodeMessage, whenFull: WhenFull, isClosing: () => boolean, counters: IngestCounters): Ingest =>
  async (source, messages, origin) => {
    const refused: RefusedMessage[] = []
    const routed: Array<Routed & { readonly index: number }> = []
    let failure: StorageFailure | undefined
    let unrouted = 0

    const refuse = (index: number, refusal: Refusal): void => {
      refused.push({ index, refusal })
      counters.refused(source, refusal)
    }

    messages.forEach((message, index) => {
      const encoded = encode(message, origin)
      if (isLeft(encoded)) refuse(index, encoded.left)
      else
        routed.push({ index, payload: encoded.right, targets: route(source.targets, encoded.right.items[0]) })
    })

    const failures = isClosing() ? routed.map(() => closed(undefined)) : await store(routed, whenFull)
    routed.forEach(({ index, targets }, at) => {
      const failed = failures[at]
      if (failed !== undefined) {
        failure ??= failed
        refuse(index, { ...failed, input: messages[index] })
      } else if (targets.length === 0) {
        unrouted++
      }
    })
    counters.accepted(source, messages.length - refused.length, unrouted)
    return { refused, failure, id: routed.at(-1)?.payload.id }
  }
