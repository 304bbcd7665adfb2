/**
 * `headrace`: the parts a pipeline is made of. It loads no undici; what speaks HTTP is at `headrace/sinks/webhook` and
 * `headrace/destination`.
 *
 * @module headrace
 */

// Time and chance.
export { systemClock, systemRandom, toScheduler, type Cancel, type Clock, type Random } from './core/clock.ts'

// Events: calls as people write them, the model, the wire form, and payloads.
export { callOf, allows } from './event/model.ts'
export type { AliasCall, Call, DeleteCall, GroupCall, IdentifyCall, PageCall } from './event/model.ts'
export type {
  ScreenCall,
  TrackCall,
  Forwarded,
  ForwardedDelete,
  Kind,
  PageProperties,
} from './event/model.ts'
export { Alias, Delete, Group, Identify, Integrations, Page, Screen, Track } from './event/model.ts'
export { Event, ParsedEvent, eventCodec, type EventCodecOptions } from './event/event.ts'
export { encodePayload, jsonArrayFrame, bytesOf, bodyOf } from './event/payload.ts'
export type { BatchPayload, ClosedBy, EventPayload, FixedFrame, Frame, ItemBatch } from './event/payload.ts'
export type { Payload } from './event/payload.ts'
export { faultsOf } from './event/codecFaults.ts'
export { toTrackingMessage, trackingFrame } from './event/trackingMessage.ts'
export type { Library, Tracked, TrackingMessage } from './event/trackingMessage.ts'
export { WebhookBody, WireBody, toWebhookBody } from './event/webhookBody.ts'
export type { AliasBody, DeleteBody, GroupBody, IdentifyBody, PageBody } from './event/webhookBody.ts'
export type { ScreenBody, TrackBody } from './event/webhookBody.ts'
export type { Json, JsonObject } from './event/json.ts'
export * as Limits from './event/limits.ts'

// How things went.
export { allFailed, isRetryable, notAll, refused, retryable, show as showFailure } from './core/failure.ts'
export { partlyFailed } from './core/failure.ts'
export type { Cause, AllFailed, Expired as ExpiredFailure, Failure, NotAll, Refused } from './core/failure.ts'
export type { RefusedReason, Retryable, RetryableReason, SinkVerdict, PartlyFailed } from './core/failure.ts'
export type { Receipt, Verdict } from './core/failure.ts'
export type { CloseOptions } from './core/options.ts'
export { isDead, isOutcome } from './core/outcome.ts'
export type { Abandoned, Delivered, Dropped, Expired, Outcome, Rejected, Skipped } from './core/outcome.ts'
export type { Progress, EitherSource, Hint, ObservableEither, ValidatedOrLifted } from './core/outcome.ts'
export { full, isRefusal, show as showRefusal } from './core/refusal.ts'
export type { Closed, Disabled, Fault, Full, NotStored, Invalid, Refusal, Threw } from './core/refusal.ts'
export type { TooLarge } from './core/refusal.ts'
export type { Totals } from './core/totals.ts'

// Sinks and what goes around them.
export { onlyAttempt, type Attempt, type Layer, type Sink } from './sink/sink.ts'
export { memory, type MemoryOptions, type MemorySink } from './sink/memory.ts'
export { sink, type Handler, type HandlerContext, type SinkOptions } from './sink/fromFunction.ts'
export { withBisection, type BisectionOptions } from './sink/bisect.ts'
export { contramap } from './sink/layer.ts'
export { failover, firstSuccess, toAll, type CombinationOptions } from './sink/combine.ts'
export { route, type RoutedSink, type RouteOptions } from './sink/route.ts'
export { withCircuitBreaker, type CircuitBreakerOptions } from './sink/circuitBreaker.ts'
export { withDedupe, type DedupeOptions } from './sink/dedupe.ts'
export { withRateLimit, type RateLimitOptions } from './sink/rateLimit.ts'
export { withRetryAfterGate, type RetryAfterGateOptions } from './sink/retryAfterGate.ts'
export { withConcurrency, type ConcurrencyOptions } from './sink/concurrency.ts'
export { withObserver } from './sink/observe.ts'
export { withTimeout } from './sink/timeout.ts'

// When to try again, and where things wait for it.
export { always, both, capDelay, deadline, exponential, fullJitter } from './policy/retryPolicy.ts'
export { limitRetries, Monoid as RetryPolicyMonoid, respectRetryAfter } from './policy/retryPolicy.ts'
export { standard, show as showPolicy } from './policy/retryPolicy.ts'
export type { ExponentialOptions, RetryPolicy } from './policy/retryPolicy.ts'
export { plan, type PlanOptions, type PlannedAttempt } from './policy/plan.ts'
export { memoryOutbox, type MemoryOutboxOptions } from './outbox/memoryOutbox.ts'
export type { DeadLetter, DeadLetters, Ack, CorruptDeadLetter, DeadPage } from './outbox/outbox.ts'
export type { EndedDeadLetter, Entry, LeaseLimits, Nack, Outbox, OutboxStats } from './outbox/outbox.ts'
export type { Awaitable } from './core/awaitable.ts'

// Operators and sources.
export { batch, type BatchOptions, type ItemBatchOptions, type KeyedBatchOptions } from './operators/batch.ts'
export type { BulkOptions } from './operators/bulk.ts'
export { deliver, type BulkDeliverOptions, type DeliverOptions } from './operators/deliver.ts'
export { encode, type BodyWriter, type EncodeFormat, type EncodeOptions } from './operators/encode.ts'
export { enrich, filterRight, flatMapRight, lift, mapRight, tapRight } from './operators/rightSide.ts'
export type { EnrichOptions } from './operators/rightSide.ts'
export { sign, type Signable, type Signed } from './operators/sign.ts'
export { validate } from './operators/validate.ts'
export { pull, type PullOptions } from './sources/pull.ts'
export { push, type NotTaken, type Push, type PushOptions, type PushStats } from './sources/push.ts'

// What happens inside.
export { debugListener } from './log/debug.ts'
export { allListeners, channel } from './log/listeners.ts'
export { toLogger, type Fields as LogFields, type Log, type Logger } from './log/logger.ts'
export type { Listener, LogEvent } from './log/logEvent.ts'
