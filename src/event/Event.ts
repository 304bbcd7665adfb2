/**
 * The way in: calls, as people write them, become events (EV1 to EV10).
 *
 * @module
 */
import * as t from 'io-ts'
import { systemClock } from '../clock/Clock.ts'
import type { Clock } from '../clock/Clock.ts'
import type * as Kinds from './Kinds.ts'
import type { Call } from './Call.ts'
import { callOf } from './Call.ts'
import { fromMillis } from './Timestamp.ts'
import { newId as randomId } from './newId.ts'
import { toErrors } from './json/Finding.ts'
import { isField, messageIdOf, reading } from './reading/Reading.ts'
import type { Form, Reading } from './reading/Reading.ts'
import { droppedKeys } from './reading/droppedKeys.ts'
import { gather } from './reading/gather.ts'
import { isCanonical } from './reading/isCanonical.ts'
import { readKind } from './reading/readKind.ts'

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
  const { clock = systemClock, newId = randomId, onDropped } = options
  const form: Form = {
    fieldOf: (key) => (isField(key) ? key : undefined),
    label: (field) => field,
    timestamp: () => fromMillis(clock.now()),
    messageId: newId,
    complete: false,
    pageNeedsUserId: options.pageNeedsUserId ?? false,
    owned: options.owned ?? false,
  }
  const decode = (input: unknown, context: t.Context): t.Validation<Event> => {
    const look = reading(form)
    const event = gather(look, input) ? complete(look) : undefined
    if (event === undefined || look.findings.length > 0) return t.failures(toErrors(look.findings, context))
    if (onDropped !== undefined) tellDropped(look, event, input, onDropped)
    return t.success(event)
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
