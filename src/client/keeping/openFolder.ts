import { isLeft } from 'fp-ts/lib/Either.js'
import { isStoredIn } from '../../outbox/lmdb/LmdbContract.ts'
import { openStoredOutbox } from '../../outbox/lmdb/openStoredOutbox.ts'
import { OutboxError } from '../../outbox/lmdb/OutboxError.ts'
import type { StoredOutbox } from '../../outbox/lmdb/storedOutbox.ts'
import type { MessageBatch } from '../Message.ts'
import type { ClientSettings } from '../settingsOf.ts'
import { batchCodec } from './batchCodec.ts'

/** The folder of a client, opened; undefined if it has none. @throws OutboxError when it cannot be opened. */
export const openFolder = ({
  outbox,
  clock,
}: Pick<ClientSettings, 'outbox' | 'clock'>): StoredOutbox<MessageBatch> | undefined => {
  if (!isStoredIn(outbox)) return undefined
  const opened = openStoredOutbox({ ...outbox, codec: batchCodec, clock })
  if (isLeft(opened)) throw new OutboxError(opened.left)
  return opened.right
}
