/**
 * `headrace/outbox`: where items wait for their delivery: the contract, and an outbox in memory.
 *
 * @module
 */
export type { Awaitable } from '../core/awaitable.ts'
export { full } from '../core/refusal.ts'
export type { Progress } from '../core/outcome.ts'
export type { OwnDeadLetters } from './deadLetters.ts'
export { memoryOutbox, type MemoryOutboxOptions } from './memoryOutbox.ts'
export type { Ack, BookmarkedOutbox, CorruptDeadLetter, CorruptRecord, DeadLetter } from './outbox.ts'
export type { DeadLetters, DeadPage, EndedDeadLetter, Entry, ItemCodec, LeaseLimits } from './outbox.ts'
export type { Nack, Outbox, OutboxFactory, OutboxFactoryOptions, OutboxStats } from './outbox.ts'
export type { TransactionClient, TransactionalOutbox } from './outbox.ts'
export { aboutCorrupt, aboutDead, aboutRetry, deadLetterIn, entryIn } from './stored.ts'
