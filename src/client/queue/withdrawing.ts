import type { Relay } from '../../outbox/relay.ts'
import { dropped } from '../../core/outcome.ts'
import type { MessageBatch } from '../Message.ts'
import type { BatchOutbox } from './batchOutbox.ts'
import type { Endings } from './endings.ts'
import type { Handover } from './handover.ts'
import type { Shards } from './shards.ts'

/** Where messages wait, the oldest first. */
export interface WithdrawingOptions {
  readonly outbox: Pick<BatchOutbox<MessageBatch>, 'withdrawOldest'>
  readonly relay: Pick<Relay<MessageBatch>, 'discard'>
  readonly onTheWay: Pick<Handover, 'withdrawOldest'>
  readonly filling: Pick<Shards, 'abandonOldest'>
  readonly ends: Pick<Endings, 'end' | 'drop'>
}

/** Drops the oldest batch that is not in a request, as a whole; if there is none, the one that is being filled. False: neither (CL2). */
export const withdrawing =
  ({ outbox, relay, onTheWay, filling, ends }: WithdrawingOptions): (() => boolean) =>
  () => {
    const entry = outbox.withdrawOldest()
    if (entry !== undefined) {
      const { item, progress } = entry
      ends.end(dropped(item, progress?.attempts ?? 0, 'dropOldest'), progress?.lastFailure)
      relay.discard([entry])
      return true
    }
    const batch = onTheWay.withdrawOldest()
    if (batch !== undefined) {
      ends.end(dropped(batch, 0, 'dropOldest'))
      return true
    }
    const messages = filling.abandonOldest()
    ends.drop(messages)
    return messages.length > 0
  }
