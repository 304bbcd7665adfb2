import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { messageOf } from '../core/failure.ts'
import { invalid, tooLarge } from '../core/refusal.ts'
import type { Refusal } from '../core/refusal.ts'
import { version } from '../core/version.ts'
import { eventReader } from '../event/event.ts'
import * as Limits from '../event/limits.ts'
import { toTrackingMessage } from '../event/trackingMessage.ts'
import { itemsOf } from './message.ts'
import type { CallType, Message } from './message.ts'
import type { ClientSettings } from './options.ts'

/** Makes the message of a call; `kind` is that of the method that was called. Never throws. */
export type Encode = (call: unknown, kind: CallType | undefined) => Either<Refusal, Message>

const LIBRARY = { name: 'headrace-node', version }

const NO_DELETE = [
  {
    path: 'type',
    message: 'must be one of page, screen, identify, track, alias, group: a client cannot delete users',
  },
]

/**
 * Calls into messages. A call is checked where it is and written at once: the text is the copy.
 *
 * @param onUnknownKeys receives the keys that a call lost, if `isHeard` says so
 */
export const encoder = (
  { clock, context, integrations, maxMessage, newId }: ClientSettings,
  onUnknownKeys: (keys: ReadonlyArray<string>) => void,
  isHeard: () => boolean,
): Encode => {
  const hostId = (): string => {
    const id: unknown = newId?.()
    if (typeof id === 'string' && id !== '' && id.length <= Limits.messageIdLength) return id
    throw new TypeError('newId must answer 1 to 256 characters')
  }
  const read = eventReader(
    {
      clock,
      onUnknownKeys,
      owned: true,
      pageNeedsUserId: true,
      ...(newId && { newId: hostId }),
    },
    isHeard,
  )

  return (call, kind) => {
    try {
      const decoded = read(call, kind)
      if (isLeft(decoded)) return left(invalid(call, decoded.left))
      let event = decoded.right
      if (event.type === 'delete') return left(invalid(call, NO_DELETE))
      if (context !== undefined) event = { ...event, context: { ...context, ...event.context } }
      if (integrations !== undefined)
        event = { ...event, integrations: { ...integrations, ...event.integrations } }
      const text = JSON.stringify(toTrackingMessage(event, LIBRARY))
      const byteLength = Buffer.byteLength(text)
      const { messageId: id, type } = event
      if (byteLength > maxMessage) return left(tooLarge(call, maxMessage, byteLength, id))
      return right({ id, items: itemsOf[type], text, byteLength })
    } catch (error) {
      // A getter of the call, or `newId`, threw.
      return left(invalid(call, [{ path: '', message: `could not be encoded: ${messageOf(error)}` }]))
    }
  }
}
