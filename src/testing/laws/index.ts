/**
 * `headrace/testing/laws`: laws for sinks, layers, outboxes, batchers, policies and pipelines of your own, the inputs that they are
 * checked with, and broken versions that they find. Needs fast-check.
 *
 * @module
 */
export { holds, same } from './assert.ts'
export { batchLaws } from './batchLaws.ts'
export type { Batcher } from './batchWorld.ts'
export { brokenBatchers } from './brokenBatchers.ts'
export { brokenClients } from './brokenClients.ts'
export { brokenOutboxes } from './brokenOutboxes.ts'
export { brokenPolicies } from './brokenPolicies.ts'
export { brokenCombinators } from './brokenCombinators.ts'
export { brokenLayers } from './brokenLayers.ts'
export { brokenPipelines } from './brokenPipelines.ts'
export { brokenSharedOutboxes } from './brokenSharedOutboxes.ts'
export { brokenSigners } from './brokenSigners.ts'
export { brokenSinks } from './brokenSinks.ts'
export { checkLaws, registerLaws, reportOf } from './checkLaws.ts'
export type { LawOptions, LawReport, TestRunner } from './checkLaws.ts'
export { failoverLaws, firstSuccessLaws, toAllLaws, type MakeCombination } from './combinatorLaws.ts'
export { brokenCodecs, type ChangeCodec } from './brokenCodecs.ts'
export { codecLaws, type CodecLawOptions } from './codecLaws.ts'
export { clientLaws, type OpenClient } from './clientLaws.ts'
export { law, lawsOver, propertyOf, type Broken, type Law, type Run } from './law.ts'
export { outboxLaws } from './outboxLaws.ts'
export type { MakeOutbox, OutboxBounds, OutboxItem, OutboxLawOptions, OutboxWorld } from './outboxWorld.ts'
export { policyLaws, type AskedPolicy, type Decide, type MakePolicy } from './policyLaws.ts'
export { pipelineLaws, type Pipeline, type PipelineLawOptions } from './pipelineLaws.ts'
export { sharedOutboxLaws } from './sharedOutboxLaws.ts'
export type { OpenSharedOutbox, SharedOutbox, SharedOutboxWorld } from './sharedOutboxLaws.ts'
export { signLaws, type Signing, type VerifyAnswer } from './signLaws.ts'
export { arbitraryFor, type CodecArbitraryOptions, type Override } from './codecArbitrary.ts'
export {
  anyEvent,
  eventOf,
  eventOverrides,
  trackingCall,
  trackingCallOf,
  wireBody,
  wireBodyAround,
  type TrackingCall,
} from './events.ts'
export { faultScript, type FaultScriptOptions } from './faultScript.ts'
export { callStream, type CallStreamOptions } from './callStream.ts'
export { invalidBody, invalidCall, invalidCallOf, invalidFor } from './invalidInput.ts'
export type { InvalidInput, InvalidReason } from './invalidInput.ts'
export { hostileJson, jsonObject, jsonValue } from './jsonValues.ts'
export { instant, isoTimestamp } from './moments.ts'
export { policy } from './policies.ts'
export { commands, countsAround, paddedTo, sizedAround, textOfSize, utf16Text } from './texts.ts'
export type { Alphabet, Command, SizedText } from './texts.ts'
export { layerLaws, type MakeLayer } from './layerLaws.ts'
export { sinkLaws, type SinkLawOptions } from './sinkLaws.ts'
export type { MakeSink, SinkItem } from './sinkWorld.ts'
