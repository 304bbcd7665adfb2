import { isDead } from '../../core/outcome.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { ItemCodec } from '../../outbox/lmdb/LmdbContract.ts'
import { bytesIn } from '../Message.ts'
import type { MessageBatch } from '../Message.ts'
import { dealOut } from '../queue/dealOut.ts'
import { batchFromText, batchOf, batchToText } from './BatchRecord.ts'

/** Of a batch that ended badly each message that did so is a letter by itself: what was delivered is not sent again by a redrive. */
const lettersOf = (outcome: Outcome<MessageBatch>): ReadonlyArray<Outcome<MessageBatch>> =>
  dealOut(outcome)
    .filter(isDead)
    .map((each) => ({ ...each, item: batchOf(each.item.id, 'flush', [each.item]) }))

/** How batches are kept on a disk: they count as their messages, in number and in bytes. */
export const batchCodec: ItemCodec<MessageBatch> = {
  kind: 'messages',
  toText: batchToText,
  fromText: batchFromText,
  sizeOf: ({ members }) => bytesIn(members),
  countOf: ({ members }) => members.length,
  lettersOf,
}
