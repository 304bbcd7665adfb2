/**
 * Part A: the webhook destination, published as `headrace/destination`.
 *
 * @module
 */
export { ConfigError } from '../outcome/ConfigError.ts'
export type {
  Accepted,
  CloseOptions,
  Destination,
  DestinationOptions,
  DestinationStats,
} from './Destination.ts'
export { decodeSettings } from './Settings.ts'
export type { Settings, WebhookSettings } from './Settings.ts'
export type { UrlStats } from './tally.ts'
export { webhookDestination } from './webhookDestination.ts'
