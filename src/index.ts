/**
 * `headrace`: the parts a pipeline is made of. It loads no undici; what speaks HTTP is at `headrace/sinks/webhook` and
 * `headrace/destination`.
 *
 * @module
 */

// Time and chance.
export { systemClock, type Cancel, type Clock } from './clock/Clock.ts'
export { systemRandom, type Random } from './clock/Random.ts'
export { toScheduler } from './clock/toScheduler.ts'

// Events: calls as people write them, the model, the wire form, and payloads.
export {
  callOf,
  type AliasCall,
  type Call,
  type DeleteCall,
  type GroupCall,
  type IdentifyCall,
  type PageCall,
  type ScreenCall,
  type TrackCall,
} from './event/Call.ts'
export { Event, ParsedEvent, eventCodec, type EventCodecOptions } from './event/Event.ts'
export { encodePayload } from './event/encodePayload.ts'
export { faultsOf } from './event/faultsOf.ts'
export { toTrackingMessage } from './event/tracking/TrackingMessage.ts'
export type { Library, Tracked, TrackingMessage } from './event/tracking/TrackingMessage.ts'
export { trackingFrame } from './event/tracking/trackingFrame.ts'
export { envelope, jsonArrayFrame } from './event/Frame.ts'
export { Integrations, allows } from './event/Integrations.ts'
export type {
  Alias,
  Delete,
  Forwarded,
  ForwardedDelete,
  Group,
  Identify,
  Kind,
  Page,
  PageProperties,
  Screen,
  Track,
} from './event/Kinds.ts'
export * as Limits from './event/Limits.ts'
export { bytesOf } from './event/bytesOf.ts'
export {
  bodyOf,
  type BatchPayload,
  type Closing,
  type EventPayload,
  type Frame,
  type Payload,
  type Signer,
} from './event/Payload.ts'
export {
  WebhookBody,
  toWebhookBody,
  type AliasBody,
  type DeleteBody,
  type GroupBody,
  type IdentifyBody,
  type PageBody,
  type ScreenBody,
  type TrackBody,
  type WireBody,
} from './event/WebhookBody.ts'
export type { Json, JsonObject } from './event/json/Json.ts'

// How things went.
export {
  eachOf,
  isRetryable,
  refused,
  retryable,
  show as showFailure,
  someOf,
  type Cause,
  type EachOf,
  type Expired as ExpiredFailure,
  type Failure,
  type Refused,
  type RefusedReason,
  type Retryable,
  type RetryableReason,
  type SomeOf,
} from './outcome/Failure.ts'
export {
  isDead,
  type Abandoned,
  type Delivered,
  type Dropped,
  type Expired,
  type Outcome,
  type Rejected,
} from './outcome/Outcome.ts'
export type { Progress } from './outcome/Progress.ts'
export type { Rail } from './outcome/Rail.ts'
export type { Receipt } from './outcome/Receipt.ts'
export {
  full,
  show as showRefusal,
  type Closed,
  type Disabled,
  type Fault,
  type Full,
  type NotKept,
  type Invalid,
  type Refusal,
  type TooLarge,
} from './outcome/Refusal.ts'
export type { Totals } from './outcome/Totals.ts'
export type { Verdict } from './outcome/Verdict.ts'

// Sinks and what goes around them.
export { onlyAttempt, type Attempt, type Layer, type Sink } from './sink/Sink.ts'
export type { Round } from './sink/Round.ts'
export { memory, type MemoryOptions, type MemorySink } from './sinks/memory.ts'
export { sink, type Handler, type HandlerContext, type SinkOptions } from './sinks/sink.ts'
export { bisecting, type BisectingOptions } from './layers/bisecting.ts'
export { contramap } from './layers/contramap.ts'
export { firstSuccess, type FirstSuccessOptions } from './layers/firstSuccess.ts'
export { holdingBack, type HoldingBackOptions } from './layers/holdingBack.ts'
export { limiting, type LimitingOptions } from './layers/limiting.ts'
export { observing, type ObservingOptions } from './layers/observing.ts'
export { timingOut } from './layers/timingOut.ts'
export { retrying, type RetryingOptions } from './outbox/retrying.ts'

// When to try again, and where things wait for it.
export {
  always,
  both,
  capDelay,
  deadline,
  exponential,
  fullJitter,
  limitRetries,
  Monoid as RetryPolicyMonoid,
  notBefore,
  standard,
  type ExponentialOptions,
  type RetryPolicy,
} from './policy/RetryPolicy.ts'
export { plan, type PlanOptions, type PlannedAttempt } from './policy/plan.ts'
export { show as showPolicy } from './policy/show.ts'
export { memoryOutbox, type MemoryOutboxOptions } from './outbox/memoryOutbox.ts'
export type {
  DeadLetter,
  DeadLetters,
  DeadPage,
  Entry,
  Outbox,
  OutboxNews,
  OutboxStats,
  ParkedEntries,
} from './sink/Outbox.ts'
export type { Awaitable } from './internal/Awaitable.ts'

// Operators and sources.
export { batch, type BatchOptions } from './operators/batch.ts'
export { deliver, type DeliverOptions } from './operators/deliver.ts'
export { encode, type EncodeOptions } from './operators/encode.ts'
export { sign } from './operators/sign.ts'
export { validate } from './operators/validate.ts'
export { pull, type PullOptions } from './sources/pull.ts'
export { push, type NotTaken, type Push, type PushOptions, type PushStats } from './sources/push.ts'

// What happens inside.
export { channel } from './observe/channel.ts'
export { debugTell } from './observe/debugTell.ts'
export { tellAll } from './observe/tellAll.ts'
export { toLogger } from './observe/toLogger.ts'
export type {
  Accepted,
  Attempted,
  Defect,
  Ended,
  Happening,
  KeysDropped,
  PassedOver,
  RefusedAtDoor,
  Tell,
  Waiting,
} from './observe/Happening.ts'
export type { Fields as LogFields, Log, Logger } from './observe/Logger.ts'
