import { ordered } from '../../outbox/ordered.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import { fromOld } from '../../outbox/oldOutbox.ts'
import type { MessageBatch } from '../Message.ts'
import type { ClientSettings } from '../settingsOf.ts'
import { batchOutbox } from './batchOutbox.ts'
import type { BatchOutbox } from './batchOutbox.ts'

/** Where batches wait. */
export interface Kept {
  readonly outbox: Outbox<MessageBatch>
  /** The same if it is the client's own, from which the oldest can be withdrawn; else one with nothing in it. */
  readonly own: Pick<BatchOutbox<MessageBatch>, 'withdrawOldest'>
}

/** So many batches of a folder may be held in memory behind others of their lanes. */
const MOST_BEHIND = 64

/** Which batches keep their order among themselves: all, those of a lane, whose number is in their id, or none. */
const laneOf = ({ id }: MessageBatch): number => Number.parseInt(id, 10)

/** The client's own outbox, or the host's; with the order that is due, which is none with several requests at a time and no key (DE7). */
export const outboxOf = (
  { concurrency, key }: Pick<ClientSettings, 'concurrency' | 'key'>,
  outbox: Outbox<MessageBatch> | undefined,
  defect: (error: unknown) => void,
): Kept => {
  const several = key === undefined ? () => undefined : laneOf
  const keyOf = concurrency === 1 ? () => 0 : several
  const own = batchOutbox<MessageBatch>(keyOf)
  if (outbox === undefined) return { outbox: fromOld(own), own }
  if (keyOf === several && key === undefined) return { outbox, own }
  // A single lane has nothing to hold, for nothing passes by its head.
  return {
    outbox: ordered(outbox, keyOf, defect, concurrency === 1 ? 0 : MOST_BEHIND),
    own,
  }
}
