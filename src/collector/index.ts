/**
 * The receiving side of the public tracking convention, published as `headrace/collector`.
 *
 * @module
 */
export type { StoredIn } from '../outbox/lmdb/LmdbContract.ts'
export { OutboxError } from '../outbox/lmdb/OutboxError.ts'
export { ConfigError } from '../outcome/ConfigError.ts'
export type {
  Collector,
  CollectorClosing,
  CollectorOptions,
  CollectorStats,
  Deletion,
  DeletionOptions,
  DestinationOutcome,
  SourceStats,
} from './Collector.ts'
export { decodeCollectorSettings } from './CollectorSettings.ts'
export type {
  CollectorSettings,
  DestinationSettings,
  SinkDestinationSettings,
  SourceSettings,
  WebhookDestinationSettings,
} from './CollectorSettings.ts'
export { createCollector } from './createCollector.ts'
export { audienceSync } from './audience/audienceSync.ts'
export type { AudienceOperator, AudienceSync, Members } from './audience/audienceSync.ts'
export { audienceSyncs } from './audience/audienceSyncs.ts'
export { computedTrait } from './audience/computedTrait.ts'
export type { TraitOperator, TraitSync, TraitValues } from './audience/computedTrait.ts'
export { membershipChanges } from './audience/membershipChanges.ts'
export type { Sync, Told, TraitCall } from './audience/Sync.ts'
export type { SyncOptions } from './audience/SyncOptions.ts'
export { traitChanges } from './audience/traitChanges.ts'
export { traitNameOf } from './audience/traitNameOf.ts'
export type { Change } from './audience/differences.ts'
export type { Paced } from './audience/Paced.ts'
export { traitNamesOf } from './audience/traitNamesOf.ts'
