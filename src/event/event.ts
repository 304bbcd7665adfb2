/**
 * Codecs between calls, as people write them, and events.
 *
 * @module
 */

import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { systemClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import type { Fault } from '../core/refusal.ts'
import { callOf } from './model.ts'
import type { Call } from './model.ts'
import { newLook, toErrors, toFaults } from './json.ts'
import type { Finding } from './json.ts'
import type * as Kinds from './model.ts'
import { newId as randomId } from './payload.ts'
import { copyIntegrations, decode, isCanonical, isIntegrations, membersOf, modelForm } from './checkEvent.ts'
import type { Form } from './checkEvent.ts'
import { fromMillis } from './timestamp.ts'

/** Something that a user did or is: one of seven kinds, told apart by `type`. */
export type Event = Kinds.Event

/** Destinations by name, and `All` for the rest: true or an object lets the event through, false does not. */
export type Integrations = Kinds.Integrations

/** What a codec for events may be given. */
export interface EventCodecOptions {
  /** The time of calls without a timestamp. Default: the machine's. */
  readonly clock?: Pick<Clock, 'now'>
  /** Makes the id of a call that has none. Default: a random UUID. */
  readonly newId?: () => string
  /**
   * Whether the input comes straight from `JSON.parse` and nothing else holds it. Then plain JSON data in it is not copied. Default: false,
   * everything is copied.
   */
  readonly owned?: boolean
  /** Whether a page must have a `userId`, as the client demands; else an `anonymousId` is enough. Default: false. */
  readonly pageNeedsUserId?: boolean
  /** Is given the top-level keys of a call that an event of its kind does not carry. */
  readonly onUnknownKeys?: (keys: ReadonlyArray<string>) => void
}

const COMMON = ['type', 'messageId', 'timestamp', 'userId', 'anonymousId', 'context', 'integrations']
const KEYS: Readonly<Record<Kinds.Kind, ReadonlyArray<string>>> = {
  page: [...COMMON, 'name', 'category', 'properties', 'traits'],
  screen: [...COMMON, 'name', 'properties'],
  identify: [...COMMON, 'traits'],
  track: [...COMMON, 'event', 'properties'],
  alias: [...COMMON, 'previousId'],
  group: [...COMMON, 'groupId', 'traits'],
  delete: ['type', 'messageId', 'timestamp', 'userId'],
}

/** The timestamp of now, written once for each millisecond. */
const timestamps = ({ now }: Pick<Clock, 'now'>): (() => string | undefined) => {
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

const formOf = ({ clock = systemClock, newId = randomId, ...options }: EventCodecOptions): Form => ({
  membersOf,
  fill: { timestamp: timestamps(clock), messageId: newId },
  isBody: false,
  isOwned: options.owned ?? false,
  pageNeedsUserId: options.pageNeedsUserId ?? false,
})

const reportUnknownKeys = (
  event: Event,
  input: unknown,
  onUnknownKeys: (keys: ReadonlyArray<string>) => void,
): void => {
  const keys = Object.keys(input ?? {}).filter((key) => !KEYS[event.type].includes(key))
  if (keys.length > 0) onUnknownKeys(keys)
}

/** `isListening`: whether dropped keys are of interest now, because finding them costs time. */
const readerOf = (options: EventCodecOptions, isListening: () => boolean) => {
  const form = formOf(options)
  const { onUnknownKeys } = options
  return (input: unknown, kind?: Kinds.Kind): Either<ReadonlyArray<Finding>, Event> => {
    const { findings, event } = decode(form, input, kind)
    if (event === undefined || findings.length > 0) return left(findings)
    // Only in a body a delete has no message id.
    const whole = event as Event
    if (onUnknownKeys !== undefined && isListening()) reportUnknownKeys(whole, input, onUnknownKeys)
    return right(whole)
  }
}

/** Reads calls without io-ts. With a `kind` the call need not name its type. */
export const eventReader = (options: EventCodecOptions = {}, isListening: () => boolean = () => true) => {
  const read = readerOf(options, isListening)
  return (input: unknown, kind?: Kinds.Kind): Either<ReadonlyArray<Fault>, Event> => {
    const result = read(input, kind)
    return result._tag === 'Left' ? left(toFaults(result.left)) : result
  }
}

/**
 * A codec from calls to events and back. Decoding names every fault at once, each with its path and without the value. It fills in the
 * time and an id where they are absent. The event is a copy: changing the input afterwards does not change it. `is` says
 * whether a value is an event in its canonical form.
 *
 * @example
 * import { eventCodec } from 'headrace'
 * const codec = eventCodec({ clock: { now: () => 0 }, newId: () => 'm-1' })
 * console.log(codec.decode({ type: 'track', userId: 'u1', event: 'Signed Up' }))
 * // => { _tag: 'Right', right: { type: 'track', … timestamp: '1970-01-01T00:00:00.000Z', … } }
 */
export const eventCodec = (options: EventCodecOptions = {}): t.Type<Event, Call> => {
  const read = readerOf(options, () => true)
  return new t.Type(
    'Event',
    (input): input is Event => isCanonical(modelForm, input),
    (input, context) => {
      const result = read(input)
      return result._tag === 'Left' ? t.failures(toErrors(result.left, context)) : result
    },
    callOf,
  )
}

/** The codec for calls from code, with the machine's clock and random ids. Decoding copies, so every input is safe. */
export const Event: t.Type<Event, Call> = eventCodec()

/** The codec for calls that come straight from `JSON.parse` and that nothing else holds: their data is checked but not copied. */
export const ParsedEvent: t.Type<Event, Call> = eventCodec({ owned: true })

/** A codec for the integrations map of an event. Decoding copies it. */
export const Integrations: t.Type<Integrations, Integrations> = new t.Type(
  'Integrations',
  isIntegrations,
  (value, context) => {
    const look = newLook()
    const copied = copyIntegrations(look, value)
    return copied === undefined || look.findings.length > 0
      ? t.failures(toErrors(look.findings, context))
      : t.success(copied)
  },
  t.identity,
)
