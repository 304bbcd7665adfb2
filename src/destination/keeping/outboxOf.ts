import type { Clock } from '../../clock/Clock.ts'
import type { Event } from '../../event/Event.ts'
import type { Payload } from '../../event/Payload.ts'
import { lmdbOutbox } from '../../outbox/lmdb/lmdbOutbox.ts'
import { inOrder } from '../../outbox/inOrder.ts'
import { memoryOutbox } from '../../outbox/memoryOutbox.ts'
import type { Outbox } from '../../sink/Outbox.ts'
import { isStoredIn } from '../../outbox/lmdb/LmdbContract.ts'
import type { DestinationOptions } from '../Destination.ts'
import type { Numbers } from '../numbersOf.ts'
import { payloadCodec } from './payloadCodec.ts'

/** What an outbox of a destination stands on. */
export interface OutboxSurroundings {
  readonly numbers: Pick<Numbers, 'maxCount' | 'maxBytes'>
  readonly clock: Clock
  /** Is told what `orderBy` threw. */
  readonly defect: (error: unknown) => void
}

/** Where accepted events wait, in order if one is wanted (DE7). @throws OutboxError when a folder cannot be opened. */
export const outboxOf = (
  { outbox, orderBy }: DestinationOptions,
  { numbers, clock, defect }: OutboxSurroundings,
): Outbox<Payload<Event>> => {
  const opened = (): Outbox<Payload<Event>> => {
    if (outbox === undefined) return memoryOutbox<Payload<Event>>(numbers)
    return isStoredIn(outbox) ? lmdbOutbox({ ...outbox, codec: payloadCodec, clock }) : outbox
  }
  const given = opened()
  if (orderBy === undefined) return given
  return inOrder(given, { keyOf: ({ items: [event] }) => orderBy(event), defect })
}
