/** Pipelines of our operators keep the laws of a pipeline. */
import { concatMap, groupBy, mergeMap, of } from 'rxjs'
import { isRecord } from '../../src/core/json.ts'
import { describe, test } from 'vitest'
import { Event } from '../../src/event/event.ts'
import type { BatchPayload, Payload } from '../../src/event/payload.ts'
import { toWebhookBody } from '../../src/event/webhookBody.ts'
import { batch } from '../../src/operators/batch.ts'
import { deliver } from '../../src/operators/deliver.ts'
import { encode } from '../../src/operators/encode.ts'
import { sign } from '../../src/operators/sign.ts'
import { validate } from '../../src/operators/validate.ts'
import { eventPipeline } from '../../src/testing/laws/brokenPipelines.ts'
import { registerLaws } from '../../src/testing/laws/checkLaws.ts'
import { pipelineLaws } from '../../src/testing/laws/pipelineLaws.ts'

describe('events one by one', () => registerLaws({ test }, pipelineLaws<Payload<Event>>(eventPipeline)))

describe('signed batches by user', () => {
  const laws = pipelineLaws<BatchPayload<Event>>((source$, sink, { clock, random }) =>
    source$.pipe(
      validate(Event),
      encode(toWebhookBody),
      groupBy((each) => (each._tag === 'Right' ? each.right.items[0].userId : '')),
      mergeMap((user$) => user$.pipe(batch({ maxCount: 3, maxDelay: 100, clock }))),
      sign('correct horse'),
      deliver(sink, { clock, random }),
    ),
  )
  registerLaws({ test }, laws)
})

describe('events in the order of their user', () => {
  const laws = pipelineLaws<Payload<Event>>(
    (source$, sink, { clock, random }) =>
      source$.pipe(
        validate(Event),
        encode(toWebhookBody),
        groupBy((each) => (each._tag === 'Right' ? each.right.items[0].userId : undefined)),
        mergeMap((user$) => user$.pipe(concatMap((each) => of(each).pipe(deliver(sink, { clock, random }))))),
      ),
    { keyOf: (item) => (isRecord(item) && typeof item['userId'] === 'string' ? item['userId'] : undefined) },
  )
  registerLaws({ test }, laws)
})
