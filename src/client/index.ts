/**
 * `headrace/client`: a client for one source, which sends calls in batches to a server that speaks the public
 * tracking convention. @module
 */
export type { Accepted } from '../core/outcome.ts'
export type { WaitOptions } from '../core/options.ts'
export type { Client, ClientCall, ClientStats, EventTypes, Identity, Traits } from './client.ts'
export { createClient } from './createClient.ts'
export type { ClientOptions } from './options.ts'
export { storedMessages, type Message, type SentBatch } from './message.ts'
export { OutboxError, type StoredIn } from '../outbox/lmdb/contract.ts'
export { ConfigError } from '../core/refusal.ts'
