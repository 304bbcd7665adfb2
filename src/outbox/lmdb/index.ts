/**
 * An outbox on a disk, over lmdb.
 *
 * @module
 */
export { lmdbOutbox, openLmdbOutbox } from './lmdbOutbox.ts'
export { OutboxError } from './contract.ts'
export type {
  Bookmark,
  CorruptRecord,
  EnqueueOptions,
  ItemCodec,
  LmdbOutbox,
  LmdbOutboxOptions,
  LmdbOutboxStats,
  OutboxFault,
} from './contract.ts'
