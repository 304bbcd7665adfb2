import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Clock } from '../core/clock.ts'
import { encodePayload, newId as randomId } from '../event/payload.ts'
import { eventReader } from '../event/event.ts'
import type { Integrations } from '../event/kinds.ts'
import type { JsonObject } from '../event/json.ts'
import * as Limits from '../event/limits.ts'
import { toTrackingMessage } from '../event/trackingMessage.ts'
import type { Library, Tracked } from '../event/trackingMessage.ts'
import { messageOf } from '../core/awaitable.ts'
import { invalid, tooLarge } from '../core/refusal.ts'
import type { Refusal } from '../core/refusal.ts'
import { itemsOf } from './Message.ts'
import type { CallType, Message } from './Message.ts'

/** What every call is given, unless it says otherwise itself. */
export interface Defaults {
  readonly context: JsonObject | undefined
  readonly integrations: Integrations | undefined
}

/** How calls become messages. */
export interface EncoderOptions {
  readonly clock: Clock
  readonly library: Library
  readonly maxMessage: number
  readonly defaults: Defaults
  readonly newId: (() => string) | undefined
  readonly key: ((event: Tracked) => string | undefined) | undefined
  /** Is told the keys that a call lost (EV3); `hearsDropped` says whether anybody would listen. */
  readonly onDropped: (keys: ReadonlyArray<string>) => void
  readonly hearsDropped: () => boolean
  /** Is told what the host's functions threw. */
  readonly defect: (where: string, error: unknown) => void
}

/** A message, and the key in whose order it stands. */
export interface Encoded {
  readonly message: Message
  readonly key: string | undefined
}

/** Makes the message of a call, of the kind whose method was called if one was, or says why not. Never throws. */
export type Encode = (call: unknown, kind: CallType | undefined) => Either<Refusal, Encoded>

const NO_DELETE = [
  {
    path: 'type',
    message: 'must be one of page, screen, identify, track, alias, group: a client deletes nobody',
  },
]

/** An id of the host's making that is none would be refused later, or be no help against repetitions: a random one takes its place. */
const idsOf =
  (newId: () => string, defect: EncoderOptions['defect']): (() => string) =>
  () => {
    try {
      const id: unknown = newId()
      if (typeof id === 'string' && id !== '' && id.length <= Limits.messageIdLength) return id
      defect('newId', new TypeError('it must answer 1 to 256 characters'))
    } catch (error) {
      defect('newId', error)
    }
    return randomId()
  }

const completed = (event: Tracked, { context, integrations }: Defaults): Tracked =>
  context === undefined && integrations === undefined
    ? event
    : {
        ...event,
        ...(context === undefined ? {} : { context: { ...context, ...event.context } }),
        ...(integrations === undefined ? {} : { integrations: { ...integrations, ...event.integrations } }),
      }

/**
 * Calls into messages. A call is checked where it lies and written at once; the text is the copy (EV8). So the event shares its data
 * with the call, and nobody keeps it.
 */
export const encoderOf = (options: EncoderOptions): Encode => {
  const { clock, defaults, key, library, maxMessage, newId, onDropped, hearsDropped, defect } = options
  const read = eventReader(
    {
      clock,
      onDropped,
      owned: true,
      pageNeedsUserId: true,
      ...(newId === undefined ? {} : { newId: idsOf(newId, defect) }),
    },
    hearsDropped,
  )

  const keyOf = (event: Tracked): string | undefined => {
    try {
      const found: unknown = key?.(event)
      return typeof found === 'string' ? found : undefined
    } catch (error) {
      defect('key', error)
      return undefined
    }
  }

  const textOf = (event: Tracked): string | undefined => {
    try {
      return JSON.stringify(toTrackingMessage(event, library))
    } catch {
      return undefined
    }
  }

  /** It was good data when it was checked, and something else when it was written: only an object that answers as it likes is like that. */
  const unwritable = (call: unknown, event: Tracked): Refusal => {
    const again = encodePayload(event.messageId, call, event, Infinity)
    return isLeft(again) ? again.left : invalid(call, [{ path: '', message: 'could not be written as JSON' }])
  }

  const encode: Encode = (call, kind) => {
    const found = read(call, kind)
    if (isLeft(found)) return left(invalid(call, found.left))
    if (found.right.type === 'delete') return left(invalid(call, NO_DELETE))
    const event = completed(found.right, defaults)
    const text = textOf(event)
    if (text === undefined) return left(unwritable(call, event))
    const { messageId: id, type } = event
    const byteLength = Buffer.byteLength(text)
    if (byteLength > maxMessage) return left(tooLarge(call, maxMessage, byteLength, id))
    return right({
      message: { id, items: itemsOf[type], text, byteLength },
      key: key === undefined ? undefined : keyOf(event),
    })
  }

  return (call, kind) => {
    try {
      return encode(call, kind)
    } catch (error) {
      return left(invalid(call, [{ path: '', message: `could not be encoded: ${messageOf(error)}` }]))
    }
  }
}
