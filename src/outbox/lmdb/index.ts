/**
 * An outbox on a disk, over lmdb.
 *
 * @module
 */
export { lmdbOutbox } from './lmdbOutbox.ts'
export type {
  AppendOptions,
  Bookmark,
  ItemCodec,
  LmdbOutbox,
  LmdbOutboxOptions,
  LmdbOutboxStats,
} from './LmdbContract.ts'
export { openLmdbOutbox } from './openLmdbOutbox.ts'
export { OutboxError } from './OutboxError.ts'
export type { OutboxFault, OutboxReason } from './OutboxError.ts'
