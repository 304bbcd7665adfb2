import { withBisection, withConcurrency, withRetryAfterGate, withTimeout } from '../../src/index.ts'
import type { Attempt, Sink } from '../../src/index.ts'
import { makeLayer, makeSink, subscribeTo } from '../../src/sink/layer.ts'
import { bisectLaws, type MakeBisect } from '../laws/bisect.laws.ts'
import { concurrencyLaws, type Limits, type MakeConcurrency } from '../laws/concurrency.laws.ts'
import { gateLaws, type MakeGate } from '../laws/retryAfterGate.laws.ts'
import { type MakeTimeout, timeoutLaws } from '../laws/timeout.laws.ts'
import { itCatches } from '../support/mutants.ts'

/** Is started with another attempt than the one that was asked for. */
const attempting = <A>(sink: Sink<A>, change: (attempt: Attempt) => Partial<Attempt>): Sink<A> =>
  makeLayer<A>(
    sink,
    (subscribe) => (item, attempt, observer) => subscribe(item, { ...attempt, ...change(attempt) }, observer),
  )

/** Does not pass a cancel on. */
const leaky = <A>(sink: Sink<A>): Sink<A> =>
  makeLayer<A>(sink, (subscribe) => (item, attempt, observer) => {
    subscribe(item, attempt, observer)
    return () => undefined
  })

const limited =
  (change: (limits: Limits) => Partial<Limits>): MakeConcurrency =>
  (limits) => {
    const { by, ...bounds } = { ...limits, ...change(limits) }
    return withConcurrency({ ...bounds, ...(by === undefined ? {} : { by }) })
  }

const asGiven = limited(() => ({}))

itCatches<MakeConcurrency>('concurrency', concurrencyLaws.each, {
  'one too many runs': ['C1', limited(({ concurrency }) => ({ concurrency: concurrency + 1 }))],
  'all keys share one queue': ['C6', limited(() => ({ by: undefined }))],
  'one too many waits': ['C4', limited(({ queue }) => ({ queue: queue + 1 }))],
  'the deadline is ignored': [
    'C5',
    (limits) => (sink) => attempting(asGiven(limits)(sink), () => ({ until: Infinity })),
  ],
  'a cancel stays outside': ['C7', (limits) => (sink) => asGiven(limits)(leaky(sink))],
})

itCatches<MakeTimeout>('timeouts', timeoutLaws.each, {
  'it is one millisecond late': ['T1', (within) => withTimeout({ timeout: within + 1 })],
  'a timeout does not cancel inside': [
    'T2',
    (within) => (sink) => withTimeout({ timeout: within })(leaky(sink)),
  ],
  'each delivery has a timer': [
    'T3',
    (within) => (sink) =>
      makeSink(
        sink.name,
        (item, attempt, observer) =>
          subscribeTo(withTimeout({ timeout: within })(sink))(item, attempt, observer),
        (timeout) => sink.close({ timeout }),
      ),
  ],
})

itCatches<MakeGate>('the Retry-After gate', gateLaws.each, {
  'each sink has its own gate': ['G1', (most) => (sink) => withRetryAfterGate({ maxDelay: most })(sink)],
  'it never closes': ['G1', () => (sink) => sink],
})

itCatches<MakeBisect>('bisection', bisectLaws.each, {
  'it never divides': ['B1', (_only) => withBisection({ only: [] })],
  'it forgets what was taken': [
    'B1',
    (only) => (sink) => attempting(withBisection({ only })(sink), () => ({ lastFailure: undefined })),
  ],
  'it ignores the deadline': [
    'B4',
    (only) => (sink) => attempting(withBisection({ only })(sink), () => ({ until: Infinity })),
  ],
  'parts have another frame': [
    'B5',
    (only) => (sink) =>
      withBisection({ only })(
        makeLayer(
          sink,
          (subscribe) => (batch, attempt, observer) =>
            subscribe({ ...batch, frame: { ...batch.frame } }, attempt, observer),
        ),
      ),
  ],
})
