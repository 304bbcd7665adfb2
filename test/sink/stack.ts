/** Stacks of layers in any order, for the laws that must hold whatever stands around what. */
import * as fc from 'fast-check'
import { right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../src/core/clock.ts'
import { withBisection } from '../../src/sink/bisect.ts'
import { contramap } from '../../src/sink/contramap.ts'
import { firstSuccess } from '../../src/sink/firstSuccess.ts'
import { withRetryAfterGate } from '../../src/sink/retryAfterGate.ts'
import { withConcurrency } from '../../src/sink/concurrency.ts'
import { withObserver } from '../../src/sink/observe.ts'
import { withTimeout } from '../../src/sink/timeout.ts'
import type { Layer, Sink } from '../../src/sink/sink.ts'
import { type Reply, type ScriptedSink, scriptedSink } from '../../src/testing/scriptedSink.ts'
import { type VirtualClock, virtualClock } from '../../src/testing/virtualClock.ts'
import { batchOf, type Batch } from '../laws/bisectingWorld.ts'
import { anyReply } from '../laws/layer.ts'
import type { SinkWorlds } from '../laws/sink.ts'

/** A sink as a host would write it: without a run of ours. */
const foreign: Layer = ({ name, deliver, close }) => ({ name, deliver, close })

const silent = (): void => {}

/** A bisection seen as a layer over numbers: a number is a batch of so many members and one more, and each part one of them. */
const bisectingNumbers =
  (clock: Clock, only: ReadonlyArray<number>): Layer =>
  (sink) => {
    // The laws know only numbers, and a layer may not: what comes in is given to the sink inside again.
    let last: Parameters<typeof sink.deliver>[0]
    const inside = contramap((_batch: Batch) => last)(sink)
    return contramap((item: typeof last) => {
      last = item
      return batchOf((Number(item) % 5) + 1)
    })(withBisection({ only, clock })(inside))
  }

/** Wishes in the replies are moments from 0 to 1,000: on this clock, which starts at 0, they lie ahead. */
const fromZero = (clock: Clock): Clock => ({ ...clock, now: () => Math.floor(clock.monotonic()) })

/** Each as it is when it has no reason to interfere. */
export const passiveLayers: Readonly<Record<string, (clock: Clock) => Layer>> = {
  'withTimeout, with time enough': (clock) => withTimeout(1_000_000, { clock }),
  'limiting, with room enough': (clock) => withConcurrency({ concurrency: 100, clock }),
  'limiting by key, with room enough': (clock) =>
    withConcurrency({ concurrency: 100, by: (item) => item, clock }),
  'withRetryAfterGate, with nothing asked for any more': (clock) => withRetryAfterGate({ clock }),
  'bisecting, with no status that is divided': (clock) => bisectingNumbers(clock, []),
  observing: (clock) => withObserver(silent, { clock }),
  'observing what was passed over': (clock) => withObserver(silent, { clock, only: 'UrlSkipped' }),
  'contramap of the identity':
    () =>
    <A>(sink: Sink<A>) =>
      contramap((item: A): A => item)(sink),
  'a sink that is not ours': () => foreign,
}

const beside = (clock: Clock, others: Array<ScriptedSink<number>>, reply: Reply) => (sink: Sink<number>) => {
  const other = scriptedSink<number>({ name: 'other', clock, reply: () => reply })
  others.push(other)
  return firstSuccess([sink, other], { name: sink.name, clock })
}

type Wrap = (sink: Sink<number>) => Sink<number>

/** Each as it is when it does interfere. `others` collects the scripted sinks that a layer brings with it. */
const busyLayers: Readonly<Record<string, (clock: Clock, others: Array<ScriptedSink<number>>) => Wrap>> = {
  withTimeout: (clock) => withTimeout(25, { clock }),
  limiting: (clock) => withConcurrency({ concurrency: 2, queue: 2, clock }),
  'limiting by key': (clock) => withConcurrency({ concurrency: 1, by: (item: number) => item, clock }),
  withRetryAfterGate: (clock) => withRetryAfterGate({ clock: fromZero(clock) }),
  bisecting: (clock) => bisectingNumbers(clock, [410]),
  observing: (clock) => withObserver(silent, { clock }),
  'observing carelessly': (clock) =>
    withObserver(
      () => {
        throw new Error('planted')
      },
      { clock },
    ),
  'first success alone': (clock) => (sink) => firstSuccess([sink], { clock }),
  'first success beside one that wins': (clock, others) =>
    beside(clock, others, { verdict: right({ sink: 'other' }), after: 10, rest: 40 }),
  'first success beside one that throws': (clock, others) =>
    beside(clock, others, { defect: new Error('planted'), after: 5 }),
  contramap: () => contramap((item: number) => item + 1),
  foreign: () => foreign,
}

export interface StackWorld {
  /** From the inside out. */
  readonly layers: ReadonlyArray<string>
  readonly replies: ReadonlyArray<Reply>
}

export const stackWorld: fc.Arbitrary<StackWorld> = fc.record({
  layers: fc.array(fc.constantFrom(...Object.keys(busyLayers)), { maxLength: 5, size: 'max' }),
  replies: fc.array(anyReply, { minLength: 1, maxLength: 8, size: 'max' }),
})

export const openStack =
  (
    outermost: (sink: Sink<number>, clock: VirtualClock) => Sink<number> = (sink) => sink,
  ): SinkWorlds<StackWorld>['open'] =>
  ({ layers, replies }) => {
    const clock = virtualClock()
    const replyAt = (index: number): Reply => replies[index % replies.length] ?? {}
    const inner = scriptedSink<number>({ clock, reply: (_item, _attempt, index) => replyAt(index) })
    const scripted = [inner]
    const sink = layers.reduce<Sink<number>>(
      (wrapped, name) => busyLayers[name]?.(clock, scripted)(wrapped) ?? wrapped,
      inner,
    )
    return {
      sink: outermost(sink, clock),
      started: () => scripted.reduce((sum, each) => sum + each.calls.length, 0),
      running: () => scripted.reduce((sum, each) => sum + each.running(), 0),
      pass: async (ms) => {
        clock.tick(ms)
        await Promise.resolve()
      },
      // What a cancel set free starts in a promise job, and may set timers again.
      settle: async () => {
        do {
          clock.tick(1_000)
          await Promise.resolve()
        } while (clock.pending() > 0)
      },
    }
  }
