/** The webhook destination, published as `headrace/destination`. @module */
export { OutboxError, type StoredIn } from '../outbox/lmdb/contract.ts'
export { ConfigError } from '../core/refusal.ts'
export type { WaitOptions } from '../core/options.ts'
export type { Accepted } from '../core/outcome.ts'
export type * from './destination.ts'
export { decodeSettings, Settings, type WebhookSettings } from './settings.ts'
export { storedEvents } from './record.ts'
export { webhookDestination } from './createDestination.ts'
