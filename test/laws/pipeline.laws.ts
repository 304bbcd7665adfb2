import { groupBy, mergeMap } from 'rxjs'
import { describe, test } from 'vitest'
import { Event, toWebhookBody } from '../../src/event/index.ts'
import { batch, deliver, encode, sign, validate, type BatchPayload, type Payload } from '../../src/index.ts'
import { eventPipeline } from '../../src/testing/laws/brokenParts.ts'
import { limitRetries } from '../../src/policy/index.ts'
import { pipelineLaws, registerLaws, type Pipeline } from '../../src/testing/laws/index.ts'

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
