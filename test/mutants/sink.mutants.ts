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
  'C1: one too many runs': limited(({ concurrency }) => ({ concurrency: concurrency + 1 })),
  'C6: all keys share one queue': limited(() => ({ by: undefined })),
  'C4: one too many waits': limited(({ queue }) => ({ queue: queue + 1 })),
  'C5: the deadline is ignored': (limits) => (sink) =>
    attempting(asGiven(limits)(sink), () => ({ until: Infinity })),
  'C7: a cancel stays outside': (limits) => (sink) => asGiven(limits)(leaky(sink)),
})

itCatches<MakeTimeout>('timeouts', timeoutLaws.each, {
  'T1: it is one millisecond late': (within) => withTimeout({ timeout: within + 1 }),
  'T2: a timeout does not cancel inside': (within) => (sink) => withTimeout({ timeout: within })(leaky(sink)),
  'T3: each delivery has a timer': (timeout) => (sink) =>
    makeSink(
      sink.name,
      (item, attempt, observer) => subscribeTo(withTimeout({ timeout })(sink))(item, attempt, observer),
      (within) => sink.close({ timeout: within }),
    ),
})

itCatches<MakeGate>('the Retry-After gate', gateLaws.each, {
  'G1: each sink has its own gate': (most) => (sink) => withRetryAfterGate({ maxDelay: most })(sink),
  'G1: it never closes': () => (sink) => sink,
})

itCatches<MakeBisect>('bisection', bisectLaws.each, {
  'B1: it never divides': (_only) => withBisection({ only: [] }),
  'B1: it forgets what was taken': (only) => (sink) =>
    attempting(withBisection({ only })(sink), () => ({ lastFailure: undefined })),
  'B4: it ignores the deadline': (only) => (sink) =>
    attempting(withBisection({ only })(sink), () => ({ until: Infinity })),
  'B5: parts have another frame': (only) => (sink) =>
    withBisection({ only })(
      makeLayer(
        sink,
        (subscribe) => (batch, attempt, observer) =>
          subscribe({ ...batch, frame: { ...batch.frame } }, attempt, observer),
      ),
    ),
})
