/**
 * `headrace/outbox`: where items wait for their delivery: the contract, and an outbox in memory.
 *
 * @module
 */
export { full } from '../core/refusal.ts'
export type { Progress } from '../core/outcome.ts'
export type { CorruptRecord, ItemCodec, OutboxFactory, OutboxFactoryOptions } from './factory.ts'
export { memoryOutbox, type MemoryOutboxOptions } from './memoryOutbox.ts'
export type { Ack, CorruptDeadLetter, DeadLetter, DeadLetters, DeadPage, EndedDeadLetter } from './outbox.ts'
export type { Entry, LeaseLimits, Nack, Outbox, OutboxStats } from './outbox.ts'
export type { BookmarkedOutbox, TransactionClient, TransactionalOutbox } from './outbox.ts'
