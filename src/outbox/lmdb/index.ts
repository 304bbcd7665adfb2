/** `headrace/outbox/lmdb`: an outbox on a disk, over lmdb. @module */
export { lmdbOutbox, openLmdbOutbox } from './lmdbOutbox.ts'
export { OutboxError } from './contract.ts'
export type { Bookmark, CorruptRecord, ItemCodec } from '../outbox.ts'
export type { LmdbOutbox, LmdbOutboxOptions, LmdbOutboxStats, OutboxFault } from './contract.ts'
