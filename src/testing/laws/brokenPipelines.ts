import { NEVER, concat, filter, ignoreElements, map } from 'rxjs'
import type { Observable } from 'rxjs'
import { delivered } from '../../core/outcome.ts'
import { Event } from '../../event/event.ts'
import type { Payload } from '../../event/payload.ts'
import { toWebhookBody } from '../../event/webhookBody.ts'
import { deliver } from '../../operators/deliver.ts'
import { encode } from '../../operators/encode.ts'
import { validate } from '../../operators/validate.ts'
import { brokenVersions } from './law.ts'
import type { Pipeline } from './pipelineLaws.ts'

/** Pipelines of events. */
export type Events = Pipeline<Payload<Event>>
type End = ReturnType<Events> extends Observable<infer A> ? A : never

/** A pipeline that keeps the laws. */
export const eventPipeline: Events = (source$, sink, { clock, random }) =>
  source$.pipe(validate(Event), encode(toWebhookBody), deliver(sink, { clock, random }))

/** Changes its ends. */
export const ending =
  (change: (end$: Observable<End>) => Observable<End>): Events =>
  (...given) =>
    change(eventPipeline(...given))

/** Pipelines with one fault each, to see a law find it. They take what `validate(Event)` takes. */
export const brokenPipelines = brokenVersions<Events>()({
  'loses what the sink refuses': {
    breaks: 'pipeline/ends-once',
    make: ending(filter(({ _tag }) => _tag !== 'Rejected')),
  },
  'calls a rejected item delivered': {
    breaks: 'pipeline/tells-the-truth',
    make: ending(map((end) => (end._tag === 'Rejected' ? delivered(end.item, 1, { sink: 'laws' }) : end))),
  },
  'sends each item twice': {
    breaks: 'pipeline/sends-again-in-doubt-only',
    make: (source$, sink, world) => {
      const twice: typeof sink.deliver = (item, attempt) =>
        concat(sink.deliver(item, attempt).pipe(ignoreElements()), sink.deliver(item, attempt))
      return eventPipeline(source$, { ...sink, deliver: twice }, world)
    },
  },
  'promises an order that it does not keep': { breaks: 'pipeline/keeps-order', make: eventPipeline },
  'never completes': { breaks: 'pipeline/completes', make: ending((end$) => concat(end$, NEVER)) },
})
