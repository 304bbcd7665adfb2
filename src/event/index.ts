/**
 * `headrace/events`: calls as people write them, the codecs of events, the bodies that go out, and how they
 * are written.
 *
 * @module
 */
export { callOf, allows } from './model.ts'
export type { AliasCall, Call, DeleteCall, GroupCall, IdentifyCall, PageCall, ScreenCall } from './model.ts'
export type { Forwarded, ForwardedDelete, TrackCall } from './model.ts'
export { Alias, Delete, Group, Identify, Integrations, Page, Screen, Track } from './model.ts'
export { Event, ParsedEvent, eventCodec, type EventCodecOptions } from './event.ts'
export { faultsOf } from './codecFaults.ts'
export { WebhookBody, WireBody, toWebhookBody } from './webhookBody.ts'
export type { Library, Tracked, TrackingMessage } from './trackingMessage.ts'
export { toTrackingMessage, trackingFrame } from './trackingMessage.ts'
export { encodePayload, jsonArrayFrame, type Frame } from './payload.ts'
export type { Json, JsonObject } from './json.ts'
