import { groupBy, mergeMap } from 'rxjs'
import { describe, test } from 'vitest'
import { validate, withCircuitBreaker, withConcurrency, withDedupe, withRateLimit } from '../../src/index.ts'
import { Event, toWebhookBody } from '../../src/event/index.ts'
import type { Sink, BatchPayload, Layer, Payload } from '../../src/index.ts'
import { batch, deliver, encode, failover, firstSuccess, route, sign, toAll } from '../../src/index.ts'
import { eventPipeline } from '../../src/testing/laws/brokenParts.ts'
import { limitRetries } from '../../src/policy/index.ts'
import { pipelineLaws, registerLaws, type Pipeline } from '../../src/testing/laws/index.ts'
import type { PipelineWorld } from '../../src/testing/laws/index.ts'

describe('events one by one', () => registerLaws({ test }, pipelineLaws<Payload<Event>>(eventPipeline)))

describe('events that are tried once', () => {
  const retry = limitRetries(0)
  const once = pipelineLaws<Payload<Event>>(
    (source$, sink, { clock, random }) =>
      source$.pipe(validate(Event), encode(toWebhookBody), deliver(sink, { clock, random, retry })),
    { retries: false },
  )
  registerLaws({ test }, once)
})

describe('signed batches by user', () => {
  const pipeline: Pipeline<BatchPayload<Event>> = (source$, sink, { clock, random }) =>
    source$.pipe(
      validate(Event),
      encode(toWebhookBody),
      groupBy((each) => (each._tag === 'Right' ? each.right.items[0].userId : '')),
      mergeMap((user$) => user$.pipe(batch({ maxCount: 3, maxDelay: 100, clock }))),
      sign('correct horse'),
      deliver(sink, { clock, random }),
    )
  // At an error `mergeMap` drops the batches of all groups but the first.
  registerLaws({ test }, pipelineLaws(pipeline, { sourceFails: false }))
})

/** Pipelines to sinks that are combined, or behind layers with a memory. */
const combined: Readonly<
  Record<string, (sink: Sink<Payload<Event>>, world: PipelineWorld<Payload<Event>>) => Sink<Payload<Event>>>
> = {
  failover: (_, { sinks }) => failover(sinks(3)),
  'first success': (_, { sinks }) => firstSuccess(sinks(2)),
  'all of two': (_, { sinks }) => toAll(sinks(2, 'all')),
  'failover from all of two': (_, { sinks }) => failover([toAll(sinks(2, 'all')), ...sinks(1)]),
  'a route by user': (_, { sinks }) =>
    route({ keyOf: (payload: Payload<Event>) => payload.items[0].userId, open: () => sinks(1)[0] }),
  'a circuit breaker': (sink) => withCircuitBreaker({ failures: 2, openTimeout: 1_000 })(sink),
  'a limit of the rate': (sink) => withRateLimit({ perSecond: 1 })(sink),
  deduplication: (sink) => withDedupe<Payload<Event>>({ keyOf: ({ id }) => id, keyTimeout: 60_000 })(sink),
}

describe.each(Object.entries(combined))('events to %s', (_, make) => {
  const laws = pipelineLaws<Payload<Event>>((in$, sink, env) => eventPipeline(in$, make(sink, env), env))
  registerLaws({ test }, laws)
})

describe.each<[string, Layer]>([
  ['a limit of the rate', withRateLimit({ perSecond: 1 })],
  ['a circuit breaker', withCircuitBreaker({ failures: 1 })],
  ['a full queue', withConcurrency({ concurrency: 1, queue: 0 })],
])('lists that only their count and the end close, behind %s', (_, layer) => {
  const pipeline: Pipeline<ReadonlyArray<Payload<Event>>> = (source$, sink, { clock, random }) =>
    source$.pipe(
      validate(Event),
      encode(toWebhookBody),
      deliver(layer(sink), { batch: { maxCount: 4, maxDelay: Infinity }, clock, random }),
    )
  registerLaws({ test }, pipelineLaws(pipeline))
})
