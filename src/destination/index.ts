/**
 * Part A: the webhook destination, published as `headrace/destination`.
 *
 * @module
 */
export { OutboxError } from '../outbox/lmdb/OutboxError.ts'
export { ConfigError } from '../outcome/ConfigError.ts'
export type {
  Accepted,
  CloseOptions,
  Destination,
  DestinationOptions,
  DestinationStats,
} from './Destination.ts'
export type { StoredIn } from '../outbox/lmdb/LmdbContract.ts'
export { decodeSettings } from './Settings.ts'
export type { Settings, WebhookSettings } from './Settings.ts'
export type { UrlStats } from './tally.ts'
export { webhookDestination } from './webhookDestination.ts'
