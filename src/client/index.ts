/**
 * `headrace/client`: a client for one source, which sends calls in batches to a server that speaks the public tracking
 * convention.
 *
 * @module
 */
export type {
  Accepted,
  Alias,
  AnyEvents,
  AnyTraits,
  Client,
  ClientCall,
  ClientStats,
  EventTypes,
  Group,
  Identify,
  Identity,
  Page,
  Screen,
  Track,
  Traits,
  WithinOptions,
} from './Client.ts'
export type { ClientOptions, Overflow } from './ClientOptions.ts'
export { createClient } from './createClient.ts'
export { OutboxError } from '../outbox/lmdb/contract.ts'
export type { StoredIn } from '../outbox/lmdb/contract.ts'
export { ConfigError } from '../core/refusal.ts'
export type { CallType, Message, MessageBatch, SentBatch } from './Message.ts'
