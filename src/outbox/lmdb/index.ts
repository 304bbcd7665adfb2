/**
 * An outbox on a disk, over lmdb.
 *
 * @module
 */
export { lmdbOutbox, openLmdbOutbox } from './lmdbOutbox.ts'
export { OutboxError } from './contract.ts'
export type { CorruptRecord, ItemCodec } from '../factory.ts'
export type { Bookmark } from '../outbox.ts'
export type { LmdbOutbox, LmdbOutboxOptions, LmdbOutboxStats, OutboxFault } from './contract.ts'
