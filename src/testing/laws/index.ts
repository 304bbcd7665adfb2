/**
 * `headrace/testing/laws`: laws for parts of your own, the inputs for them, and broken versions that they
 * find. Needs fast-check.
 *
 * @module
 */
export { batchLaws } from './batchLaws.ts'
export type { Batcher } from './batchWorld.ts'
export { broken } from './brokenParts.ts'
export { checkLaws, registerLaws, reportOf } from './checkLaws.ts'
export type { LawOptions, LawReport, TestRunner } from './checkLaws.ts'
export { clientLaws } from './clientLaws.ts'
export { arbitraryFor, type CodecArbitraryOptions } from './codecArbitrary.ts'
export { codecLaws, type CodecLawOptions } from './codecLaws.ts'
export { failoverLaws, firstSuccessLaws, toAllLaws } from './combinatorLaws.ts'
export { anyEvent, eventOf, trackingCallOf, wireBody, type TrackingCall } from './events.ts'
export { faultScript, type FaultScriptOptions } from './faultScript.ts'
export { invalidBody, invalidCallOf, invalidFor, type InvalidInput } from './invalidInput.ts'
export { hostileJson } from './jsonValues.ts'
export { holds, law, lawsOver, propertyOf, same, type Broken, type Law, type Run } from './law.ts'
export { layerLaws } from './layerLaws.ts'
export { outboxLaws } from './outboxLaws.ts'
export type { MakeOutbox, OutboxBounds, OutboxItem, OutboxLawOptions, OutboxWorld } from './outboxWorld.ts'
export { pipelineLaws, type Pipeline, type PipelineLawOptions, type PipelineWorld } from './pipelineLaws.ts'
export { policy, policyLaws } from './policyLaws.ts'
export { sharedOutboxLaws } from './sharedOutboxLaws.ts'
export type { OpenSharedOutbox, SharedOutbox, SharedOutboxWorld } from './sharedOutboxLaws.ts'
export { signLaws, type Signing } from './signLaws.ts'
export { sinkLaws, type SinkLawOptions } from './sinkLaws.ts'
export type { MakeSink, SinkItem } from './sinkWorld.ts'
export { sizedAround, textOfSize } from './texts.ts'
