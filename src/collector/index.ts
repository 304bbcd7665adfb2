/**
 * The receiving side of the public tracking convention, published as `headrace/collector`.
 *
 * @module
 */
export { OutboxError, type StoredIn } from '../outbox/lmdb/contract.ts'
export { ConfigError } from '../core/refusal.ts'
export type * from './collector.ts'
export { decodeCollectorSettings } from './settings.ts'
export type { CollectorSettings, DestinationSettings, SinkDestinationSettings } from './settings.ts'
export type { SourceSettings, WebhookDestinationSettings } from './settings.ts'
export { createCollector } from './createCollector.ts'
export type { AudienceSync, Change, Members, Sync, SyncOptions, TraitCall, TraitSync } from './audience.ts'
export type { TraitValues } from './audience.ts'
export { audienceSync, audienceSyncs, computedTrait, membershipChanges, traitChanges } from './audience.ts'
export { traitNameOf, traitNamesOf } from './audience.ts'
