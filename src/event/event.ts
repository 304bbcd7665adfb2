/**
 * The way in: calls, as people write them, become events (EV1 to EV10).
 *
 * @module
 */

import * as t from 'io-ts'
import type * as Kinds from './kinds.ts'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { systemClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import { callOf } from './call.ts'
import type { Call } from './call.ts'
import { droppedKeys, gather } from './codecFaults.ts'
import { isCanonical, readKind } from './decode.ts'
import { toErrors } from './json.ts'
import type { Finding } from './json.ts'
import { newId as randomId } from './payload.ts'
import { isField, messageIdOf, reading } from './reading.ts'
import type { Form, Reading } from './reading.ts'
import { fromMillis } from './timestamp.ts'

/** Something a user did or is: one of seven kinds, told apart by `type`. */
export type Event = Kinds.Event

/** What a codec for events may be given. */
export interface EventCodecOptions {
  /** Tells the time for calls that bring no timestamp. Default: the machine's own. */
  readonly clock?: Pick<Clock, 'now'>
  /** Makes the id of a call that brings none. Default: a random UUID. */
  readonly newId?: () => string
  /**
   * Whether the input comes straight from `JSON.parse` and nobody else holds it. Then its data need not be copied. What is
   * not plain JSON data is copied all the same. Default: false, everything is copied (EV8).
   */
  readonly owned?: boolean
  /** Whether a page must have a `userId`, as the client demands; else an `anonymousId` will do (EV4). Default: false. */
  readonly pageNeedsUserId?: boolean
  /** Is told the unknown top-level keys that a call lost (EV3). If it throws, nobody is harmed. */
  readonly onDropped?: (keys: ReadonlyArray<string>) => void
}

const complete = (look: Reading): Event | undefined => {
  const read = readKind(look)
  return read?.type === 'delete' ? { ...read, messageId: messageIdOf(look) } : read
}

const tellDropped = (
  look: Reading,
  event: Event,
  input: unknown,
  onDropped: (keys: ReadonlyArray<string>) => void,
): void => {
  try {
    const keys = typeof input === 'object' && input !== null ? droppedKeys(look, event.type, input) : []
    if (keys.length > 0) onDropped(keys)
  } catch {
    // It only wanted to know; the event does not suffer for it.
  }
}

/** How a reader of calls is made. */
export interface EventReaderOptions extends EventCodecOptions {
  /** Whether anybody wants to hear of dropped keys just now; looking for them can be felt. Default: always, with an `onDropped`. */
  readonly hearsDropped?: () => boolean
}

/**
 * Reads a call that was made by the name of its kind, so that the call need not say it again; `undefined`: the call must say it.
 * What is wrong comes as findings.
 */
export type ReadEvent = (
  input: unknown,
  kind: Kinds.Kind | undefined,
) => Either<ReadonlyArray<Finding>, Event>

/** The time, written once for each millisecond. */
const stampsOf = ({ now }: Pick<Clock, 'now'>): (() => string | undefined) => {
  let at = Number.NaN
  let text: string | undefined
  return () => {
    const millis = now()
    if (millis !== at) {
      at = millis
      text = fromMillis(millis)
    }
    return text
  }
}

const nameKind = ({ fields, findings }: Reading, kind: Kinds.Kind): void => {
  if (fields.type !== undefined && fields.type !== kind)
    findings.push({ steps: ['type'], message: `must be ${kind} or left out: it is ${kind} that was called` })
  fields.type = kind
}

/** What `eventCodec` does when it decodes, for who has no use for a codec. */
export const eventReader = (options: EventReaderOptions = {}): ReadEvent => {
  const { clock = systemClock, newId = randomId, onDropped, hearsDropped } = options
  const form: Form = {
    fieldOf: (key) => (isField(key) ? key : undefined),
    label: (field) => field,
    timestamp: stampsOf(clock),
    messageId: newId,
    complete: false,
    pageNeedsUserId: options.pageNeedsUserId ?? false,
    owned: options.owned ?? false,
  }
  return (input, kind) => {
    const look = reading(form)
    const readable = gather(look, input)
    if (kind !== undefined) nameKind(look, kind)
    const event = readable ? complete(look) : undefined
    if (event === undefined || look.findings.length > 0) return left(look.findings)
    if (onDropped !== undefined && hearsDropped?.() !== false) tellDropped(look, event, input, onDropped)
    return right(event)
  }
}

/**
 * A codec from the public call form to events and back. Decoding reports every fault at once, each with its path and in plain
 * words, and never says the value itself (EV7). It fills in what may be absent, so it needs to know the time and how to
 * make ids. What it gives is a copy: changing the input afterwards changes nothing (EV8). `is` says whether a value is an event
 * in its canonical form.
 *
 * @example
 * import { eventCodec } from 'headrace'
 * const codec = eventCodec({ clock: { now: () => 0 }, newId: () => 'm-1' })
 * console.log(codec.decode({ type: 'track', userId: 'u1', event: 'Signed Up' }))
 * // => { _tag: 'Right', right: { type: 'track', … timestamp: '1970-01-01T00:00:00.000Z', … } }
 */
export const eventCodec = (options: EventCodecOptions = {}): t.Type<Event, Call> => {
  const read = eventReader(options)
  const decode = (input: unknown, context: t.Context): t.Validation<Event> => {
    const event = read(input, undefined)
    return isLeft(event) ? t.failures(toErrors(event.left, context)) : event
  }
  const is = (input: unknown): input is Event => isCanonical(input, complete)
  return new t.Type('Event', is, decode, callOf)
}

/** The codec for calls from code: with the machine's clock and random ids. Decoding copies, so it is safe for every input. */
export const Event: t.Type<Event, Call> = eventCodec()

/**
 * The codec for calls that come straight from `JSON.parse`, when nobody else holds what it gave: their data is checked but
 * not copied. In everything else it is `Event`.
 */
export const ParsedEvent: t.Type<Event, Call> = eventCodec({ owned: true })
