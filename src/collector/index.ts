/**
 * The receiving side of the public tracking convention, published as `headrace/collector`.
 *
 * @module
 */
export type { StoredIn } from '../outbox/lmdb/LmdbContract.ts'
export { OutboxError } from '../outbox/lmdb/OutboxError.ts'
export { ConfigError } from '../core/refusal.ts'
export type {
  Collector,
  CollectorClosing,
  CollectorOptions,
  CollectorStats,
  Deletion,
  DeletionOptions,
  DestinationOutcome,
  SourceStats,
} from './collector.ts'
export { decodeCollectorSettings } from './settings.ts'
export type {
  CollectorSettings,
  DestinationSettings,
  SinkDestinationSettings,
  SourceSettings,
  WebhookDestinationSettings,
} from './settings.ts'
export { createCollector } from './createCollector.ts'
export { audienceSync } from './audience.ts'
export type { AudienceOperator, AudienceSync, Members } from './audience.ts'
export { audienceSyncs } from './audience.ts'
export { computedTrait } from './audience.ts'
export type { TraitOperator, TraitSync, TraitValues } from './audience.ts'
export { membershipChanges } from './audienceChanges.ts'
export type { Sync, Told, TraitCall } from './audience.ts'
export type { SyncOptions } from './audience.ts'
export { traitChanges } from './audienceChanges.ts'
export { traitNameOf } from './audienceChanges.ts'
export type { Change } from './audienceChanges.ts'
export type { Paced } from './audienceChanges.ts'
export { traitNamesOf } from './audienceChanges.ts'
