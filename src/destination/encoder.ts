import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { messageOf } from '../core/awaitable.ts'
import type { Clock } from '../core/clock.ts'
import { invalid } from '../core/refusal.ts'
import type { Refusal } from '../core/refusal.ts'
import { eventReader } from '../event/event.ts'
import type { Event } from '../event/event.ts'
import { encodePayload } from '../event/payload.ts'
import type { EventPayload } from '../event/payload.ts'
import { toWebhookBody } from '../event/webhookBody.ts'

/** How events become payloads. */
export interface EncoderOptions {
  readonly clock: Clock
  readonly maxBody: number
  readonly newId?: (() => string) | undefined
  /** Is told the keys that a call lost (EV3). */
  readonly onDropped?: ((keys: ReadonlyArray<string>) => void) | undefined
  /** Whether anybody would listen. Default: always. */
  readonly hearsDropped?: (() => boolean) | undefined
  /** Whether calls come straight from `JSON.parse`, and nobody else holds them. Default: false. */
  readonly owned?: boolean
}

/** Makes the payload of a call once (BY1), or says why not. Never throws. */
export const encoderOf = ({
  clock,
  maxBody,
  newId,
  onDropped,
  hearsDropped,
  owned = false,
}: EncoderOptions): ((call: unknown) => Either<Refusal, EventPayload<Event>>) => {
  const read = eventReader(
    {
      clock,
      owned,
      ...(onDropped === undefined ? {} : { onDropped }),
      ...(newId === undefined ? {} : { newId }),
    },
    hearsDropped,
  )

  const encode = (call: unknown): Either<Refusal, EventPayload<Event>> => {
    const found = read(call, undefined)
    if (isLeft(found)) return left(invalid(call, found.left))
    const event = found.right
    return encodePayload(event.messageId, event, toWebhookBody(event), maxBody)
  }

  return (call) => {
    try {
      return encode(call)
    } catch (error) {
      // The clock and the maker of ids are the host's.
      return left(invalid(call, [{ path: '', message: `could not be encoded: ${messageOf(error)}` }]))
    }
  }
}
