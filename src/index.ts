/**
 * `headrace`: the parts of a pipeline: operators, sinks, what goes around them, and how items end. It loads
 * no undici; HTTP is at `headrace/sinks/webhook` and `headrace/destination`.
 *
 * @module headrace
 */

// Time and chance.
export { systemClock, systemRandom, toScheduler, type Clock, type Random } from './core/clock.ts'

// Refusal: before an item is accepted.
export { isRefusal, show as showRefusal } from './core/refusal.ts'
export type { Closed, Disabled, Fault, Full, Invalid, NotStored, Refusal, Threw } from './core/refusal.ts'
export type { TooLarge } from './core/refusal.ts'

// Failure: of an attempt.
export { allFailed, isRetryable, notAll, partlyFailed, refused, retryable } from './core/failure.ts'
export { show as showFailure } from './core/failure.ts'
export type { AllFailed, Cause, ExpiredFailure, Failure, NotAll, PartlyFailed } from './core/failure.ts'
export type { Receipt, Refused, Retryable, SinkVerdict, Verdict } from './core/failure.ts'

// Outcome: how an accepted item ended.
export { isDead, isOutcome } from './core/outcome.ts'
export type { Abandoned, Delivered, Dropped, Expired, Outcome, Rejected, Skipped } from './core/outcome.ts'
export type { EitherSource, Hint, ObservableEither, Totals } from './core/outcome.ts'
export type { CloseResult } from './outbox/close.ts'

// Operators.
export { batch, type BatchOptions, type ItemBatchOptions, type KeyedBatchOptions } from './operators/batch.ts'
export type { BulkOptions } from './operators/bulk.ts'
export { deliver, type BulkDeliverOptions, type DeliverOptions } from './operators/deliver.ts'
export { encode, type BodyWriter, type EncodeFormat, type EncodeOptions } from './operators/encode.ts'
export { enrich, filterRight, flatMapRight, lift, mapRight } from './operators/rightSide.ts'
export { splitRight, tapRight, type EnrichOptions } from './operators/rightSide.ts'
export { sign, type Signable, type Signed } from './operators/sign.ts'
export { validate, validateRight } from './operators/validate.ts'

// Sinks, and layers around them.
export { onlyAttempt, type Attempt, type Layer, type Sink } from './sink/sink.ts'
export { sink, type Handler, type HandlerContext, type SinkOptions } from './sink/fromFunction.ts'
export { bodyOf, bytesOf } from './event/payload.ts'
export type { BatchPayload, EventPayload, ItemBatch, Payload } from './event/payload.ts'
export { failover, firstSuccess, toAll, type CombinationOptions } from './sink/combine.ts'
export { route, type RoutedSink, type RouteOptions } from './sink/route.ts'
export { contramap, makeLayer, type Subscribe } from './sink/layer.ts'
export { withBisection, type BisectionOptions } from './sink/bisect.ts'
export { withCircuitBreaker, type CircuitBreakerOptions } from './sink/circuitBreaker.ts'
export { withConcurrency, type ConcurrencyOptions } from './sink/concurrency.ts'
export { withDedupe, type DedupeOptions } from './sink/dedupe.ts'
export { withObserver, type ObserverOptions } from './sink/observe.ts'
export { withRateLimit, type RateLimitOptions } from './sink/rateLimit.ts'
export { withRetryAfterGate, type RetryAfterGateOptions } from './sink/retryAfterGate.ts'
export { withTimeout, type TimeoutOptions } from './sink/timeout.ts'
export type { WaitOptions } from './core/options.ts'
