import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { messageOf } from '../core/awaitable.ts'
import { invalid, tooLarge } from '../core/refusal.ts'
import type { Refusal } from '../core/refusal.ts'
import { version } from '../core/version.ts'
import { eventReader } from '../event/event.ts'
import * as Limits from '../event/limits.ts'
import { encodePayload, newId as randomId } from '../event/payload.ts'
import { toTrackingMessage } from '../event/trackingMessage.ts'
import type { Tracked } from '../event/trackingMessage.ts'
import { itemsOf } from './message.ts'
import type { CallType, Message } from './message.ts'
import type { CallDefaults, ClientSettings } from './options.ts'

/** Makes the message of a call; `kind` is that of the method that was called. Never throws. */
export type Encode = (call: unknown, kind: CallType | undefined) => Either<Refusal, Message>

const LIBRARY = { name: 'headrace-node', version }

const NO_DELETE = [
  {
    path: 'type',
    message: 'must be one of page, screen, identify, track, alias, group: a client cannot delete users',
  },
]

const withDefaults = (event: Tracked, { context, integrations }: CallDefaults): Tracked =>
  context === undefined && integrations === undefined
    ? event
    : {
        ...event,
        ...(context && { context: { ...context, ...event.context } }),
        ...(integrations && { integrations: { ...integrations, ...event.integrations } }),
      }

const textOf = (event: Tracked): string | undefined => {
  try {
    return JSON.stringify(toTrackingMessage(event, LIBRARY))
  } catch {
    return undefined
  }
}

/** The call changed between its check and its JSON text: its getters answer differently each time. */
const unwritable = (call: unknown, event: Tracked): Refusal => {
  const again = encodePayload(event.messageId, call, event, Infinity)
  return isLeft(again) ? again.left : invalid(call, [{ path: '', message: 'could not be written as JSON' }])
}

/**
 * Calls into messages. A call is checked where it is and written at once: the text is the copy.
 *
 * @param onUnknownKeys receives the keys that a call lost, if `isHeard` says so
 * @param failed receives errors of the host's `newId`
 */
export const encoder = (
  { clock, defaults, maxMessage, newId }: Pick<ClientSettings, 'clock' | 'defaults' | 'maxMessage' | 'newId'>,
  onUnknownKeys: (keys: ReadonlyArray<string>) => void,
  isHeard: () => boolean,
  failed: (error: unknown) => void,
): Encode => {
  const hostId = (): string => {
    try {
      const id: unknown = newId?.()
      if (typeof id === 'string' && id !== '' && id.length <= Limits.messageIdLength) return id
      failed(new TypeError('newId must answer 1 to 256 characters'))
    } catch (error) {
      failed(error)
    }
    return randomId()
  }
  const read = eventReader(
    {
      clock,
      onDropped: onUnknownKeys,
      owned: true,
      pageNeedsUserId: true,
      ...(newId && { newId: hostId }),
    },
    isHeard,
  )

  const encode: Encode = (call, kind) => {
    const decoded = read(call, kind)
    if (isLeft(decoded)) return left(invalid(call, decoded.left))
    if (decoded.right.type === 'delete') return left(invalid(call, NO_DELETE))
    const event = withDefaults(decoded.right, defaults)
    const text = textOf(event)
    if (text === undefined) return left(unwritable(call, event))
    const { messageId: id, type } = event
    const byteLength = Buffer.byteLength(text)
    if (byteLength > maxMessage) return left(tooLarge(call, maxMessage, byteLength, id))
    return right({ id, items: itemsOf[type], text, byteLength })
  }

  return (call, kind) => {
    try {
      return encode(call, kind)
    } catch (error) {
      return left(invalid(call, [{ path: '', message: `could not be encoded: ${messageOf(error)}` }]))
    }
  }
}
