/**
 * `headrace`: the parts a pipeline is made of. It loads no undici; what speaks HTTP is at `headrace/sinks/webhook` and
 * `headrace/destination`.
 *
 * @module
 */

// Time and chance.
export { systemClock, type Cancel, type Clock } from './core/clock.ts'
export { systemRandom, type Random } from './core/clock.ts'
export { toScheduler } from './core/clock.ts'

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
  allows,
  type Alias,
  type Delete,
  type Forwarded,
  type ForwardedDelete,
  type Group,
  type Identify,
  type Kind,
  type Page,
  type PageProperties,
  type Screen,
  type Track,
} from './event/model.ts'
export { Event, ParsedEvent, eventCodec, type EventCodecOptions } from './event/event.ts'
export { encodePayload } from './event/payload.ts'
export { faultsOf } from './event/codecFaults.ts'
export { toTrackingMessage } from './event/trackingMessage.ts'
export type { Library, Tracked, TrackingMessage } from './event/trackingMessage.ts'
export { trackingFrame } from './event/trackingMessage.ts'
export { jsonArrayFrame } from './event/payload.ts'
export { Integrations } from './event/event.ts'
export * as Limits from './event/limits.ts'
export { bytesOf } from './event/payload.ts'
export {
  bodyOf,
  type BatchPayload,
  type ClosedBy,
  type EventPayload,
  type FixedFrame,
  type Frame,
  type ItemBatch,
  type Payload,
} from './event/payload.ts'
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
} from './event/webhookBody.ts'
export type { Json, JsonObject } from './event/json.ts'

// How things went.
export {
  allFailed,
  isRetryable,
  notAll,
  refused,
  retryable,
  show as showFailure,
  partlyFailed,
  type Cause,
  type AllFailed,
  type Expired as ExpiredFailure,
  type Failure,
  type NotAll,
  type Refused,
  type RefusedReason,
  type Retryable,
  type RetryableReason,
  type SinkVerdict,
  type PartlyFailed,
} from './core/failure.ts'
export {
  isDead,
  isOutcome,
  type Abandoned,
  type Delivered,
  type Dropped,
  type Expired,
  type Outcome,
  type Rejected,
  type Skipped,
} from './core/outcome.ts'
export type { Progress } from './core/outcome.ts'
export type { EitherSource, Hint, ObservableEither, ValidatedOrLifted } from './core/outcome.ts'
export type { Receipt } from './core/failure.ts'
export {
  full,
  isRefusal,
  show as showRefusal,
  type Closed,
  type Disabled,
  type Fault,
  type Full,
  type NotStored,
  type Invalid,
  type Refusal,
  type Threw,
  type TooLarge,
} from './core/refusal.ts'
export type { Totals } from './core/totals.ts'
export type { Verdict } from './core/failure.ts'

// Sinks and what goes around them.
export { onlyAttempt, type Attempt, type Layer, type Sink } from './sink/sink.ts'
export type { SharedWork } from './sink/sink.ts'
export { memory, type MemoryOptions, type MemorySink } from './sink/memory.ts'
export { sink, type Handler, type HandlerContext, type SinkOptions } from './sink/fromFunction.ts'
export { withBisection, type BisectionOptions } from './sink/bisect.ts'
export { contramap } from './sink/layer.ts'
export { failover, firstSuccess, toAll, type CombinationOptions } from './sink/combine.ts'
export { route, type RouteOptions } from './sink/route.ts'
export { withCircuitBreaker, type CircuitBreakerOptions } from './sink/circuitBreaker.ts'
export { withDedupe, type DedupeOptions } from './sink/dedupe.ts'
export { withRateLimit, type RateLimitOptions } from './sink/rateLimit.ts'
export { withRetryAfterGate, type RetryAfterGateOptions } from './sink/retryAfterGate.ts'
export { withConcurrency, type ConcurrencyOptions } from './sink/concurrency.ts'
export { withObserver, type ObserverOptions } from './sink/observe.ts'
export { withTimeout } from './sink/timeout.ts'
export { withRetry, type RetryOptions } from './outbox/withRetry.ts'

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
  respectRetryAfter,
  standard,
  type ExponentialOptions,
  type RetryPolicy,
  show as showPolicy,
} from './policy/retryPolicy.ts'
export { plan, type PlanOptions, type PlannedAttempt } from './policy/plan.ts'
export { memoryOutbox, type MemoryOutboxOptions } from './outbox/memoryOutbox.ts'
export type {
  DeadLetter,
  DeadLetters,
  Ack,
  CorruptDeadLetter,
  DeadPage,
  EndedDeadLetter,
  Entry,
  LeaseLimits,
  Nack,
  Outbox,
  OutboxStats,
} from './outbox/outbox.ts'
export type { Awaitable } from './core/awaitable.ts'

// Operators and sources.
export { batch, type BatchOptions, type ItemBatchOptions } from './operators/batch.ts'
export { deliver, type DeliverOptions } from './operators/deliver.ts'
export { encode, type EncodeFormat, type EncodeOptions } from './operators/encode.ts'
export { enrich, filterRight, lift, mapRight, tapRight, type EnrichOptions } from './operators/rightSide.ts'
export { sign, type Signable, type Signed } from './operators/sign.ts'
export { validate } from './operators/validate.ts'
export { pull, type PullOptions } from './sources/pull.ts'
export { push, type NotTaken, type Push, type PushOptions, type PushStats } from './sources/push.ts'

// What happens inside.
export { channel } from './log/channel.ts'
export { debugListener } from './log/debug.ts'
export { allListeners } from './log/listeners.ts'
export { toLogger } from './log/logger.ts'
export type { Listener, LogEvent } from './log/logEvent.ts'
export type { Fields as LogFields, Log, Logger } from './log/logger.ts'
