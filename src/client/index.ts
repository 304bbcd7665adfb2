/**
 * `headrace/client`: a client for one source, which sends calls in batches to a server that speaks the public tracking
 * convention.
 *
 * @module
 */
export type * from './client.ts'
export { createClient } from './createClient.ts'
export type { ClientOptions, Overflow } from './options.ts'
export type { CallType, Message, SentBatch } from './message.ts'
export { OutboxError } from '../outbox/lmdb/contract.ts'
export type { StoredIn } from '../outbox/lmdb/contract.ts'
export { ConfigError } from '../core/refusal.ts'
