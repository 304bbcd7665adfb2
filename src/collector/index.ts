/**
 * The receiving side of the public tracking convention, published as `headrace/collector`.
 *
 * @module
 */
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
