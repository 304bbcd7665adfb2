import { NEVER, concat, filter, ignoreElements, map, mergeMap, of, onErrorResumeNextWith } from 'rxjs'
import { share, type Observable } from 'rxjs'
import { delivered, isOutcome } from '../../core/outcome.ts'
import { Event } from '../../event/event.ts'
import type { Payload } from '../../event/payload.ts'
import { toWebhookBody } from '../../event/webhookBody.ts'
import { deliver } from '../../operators/deliver.ts'
import { encode } from '../../operators/encode.ts'
import { validate } from '../../operators/validate.ts'
import { onlyAttempt } from '../../sink/sink.ts'
import { brokenVersions } from './law.ts'
import type { Pipeline } from './pipelineLaws.ts'

type Events = Pipeline<Payload<Event>>
type End = ReturnType<Events> extends Observable<infer A> ? A : never

/** A pipeline that keeps the laws. */
export const eventPipeline: Events = (source$, sink, { clock, random }) =>
  source$.pipe(validate(Event), encode(toWebhookBody), deliver(sink, { clock, random }))

const ending =
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
  'gives up when the first of two sinks refuses': {
    breaks: 'pipeline/tells-the-truth',
    make: (source$, sink, world) => {
      const [first = sink] = world.sinks(2)
      return eventPipeline(source$, first, world)
    },
  },
  'sends each item twice': {
    breaks: 'pipeline/sends-again-in-doubt-only',
    make: (source$, sink, world) => {
      const twice: typeof sink.deliver = (item, attempt) =>
        concat(sink.deliver(item, attempt).pipe(ignoreElements()), sink.deliver(item, attempt))
      return eventPipeline(source$, { ...sink, deliver: twice }, world)
    },
  },
  'sends an item once more after its end': {
    breaks: 'pipeline/sends-again-in-doubt-only',
    make: (source$, sink, world) =>
      eventPipeline(source$, sink, world).pipe(
        mergeMap((end) => {
          if (!isOutcome(end)) return of(end)
          // Only payloads go into its deliver.
          const again$ = sink.deliver(end.item as Payload<Event>, onlyAttempt)
          return concat(of(end), again$.pipe(ignoreElements(), onErrorResumeNextWith()))
        }),
      ),
  },
  'promises an order that it does not keep': { breaks: 'pipeline/keeps-order', make: eventPipeline },
  'never completes': { breaks: 'pipeline/completes', make: ending((end$) => concat(end$, NEVER)) },
  'leaves a timer of five hours': {
    breaks: 'pipeline/completes',
    make: (source$, sink, world) => {
      world.clock.schedule(5 * 3_600_000, () => undefined)
      return eventPipeline(source$, sink, world)
    },
  },
  'goes on after an unsubscribe': {
    breaks: 'pipeline/completes',
    make: ending(share({ resetOnRefCountZero: false })),
  },
})
