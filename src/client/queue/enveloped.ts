import { left } from 'fp-ts/lib/Either.js'
import { trackingFrame } from '../../event/trackingMessage.ts'
import { refused } from '../../core/failure.ts'
import { fromRun, nothingToCancel, runOf } from '../../sink/layer.ts'
import type { Sink } from '../../sink/sink.ts'
import { isMessageBatch } from '../Message.ts'
import type { MessageBatch, SentBatch } from '../Message.ts'

const DAMAGED = left(
  refused('unreadable', { detail: 'the outbox handed out something else than a batch of messages' }),
)

/**
 * Puts the envelope around what waited, when it is sent. `sending` is told each batch. What is no batch any more, because an outbox of the
 * host's did not keep it whole, is refused: tried again, it would hold back everything behind it for four hours.
 */
export const enveloped =
  (sending: (batch: MessageBatch) => void) =>
  (sink: Sink<SentBatch>): Sink<MessageBatch> => {
    const run = runOf(sink)
    return fromRun(
      sink.name,
      (batch: MessageBatch, attempt, receiver) => {
        if (isMessageBatch(batch)) {
          sending(batch)
          return run({ ...batch, frame: trackingFrame }, attempt, receiver)
        }
        receiver.next(DAMAGED)
        receiver.complete()
        return nothingToCancel
      },
      sink.close,
    )
  }
