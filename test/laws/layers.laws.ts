/** What a layer must keep of the sink inside while it has nothing to do, and the contract of a sink for layers in any order. */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { describe, it } from 'vitest'
import type { Clock } from '../../src/core/clock.ts'
import { type Failure, refused, retryable } from '../../src/core/failure.ts'
import { withBisection } from '../../src/sink/bisect.ts'
import { withConcurrency } from '../../src/sink/concurrency.ts'
import { firstSuccess } from '../../src/sink/combine.ts'
import { contramap, subscribeTo } from '../../src/sink/layer.ts'
import { withObserver } from '../../src/sink/observe.ts'
import { withRetryAfterGate } from '../../src/sink/retryAfterGate.ts'
import type { Attempt, Layer, Sink } from '../../src/sink/sink.ts'
import { withTimeout } from '../../src/sink/timeout.ts'
import { type Reply, type ScriptedSink, scriptedSink } from '../../src/testing/scriptedSink.ts'
import { type VirtualClock, virtualClock } from '../../src/testing/virtualClock.ts'
import { batchOf, type Batch } from '../support/batches.ts'
import { holds, lawTable, same } from '../support/check.ts'
import { runs } from '../support/runs.ts'
import { sinkLaws, type Subject } from '../support/sinkLaws.ts'

export type MakeLayer = (clock: VirtualClock) => Layer

const failure: fc.Arbitrary<Failure> = fc.oneof(
  fc.constant(refused('status', { status: 410 })),
  fc.constant(retryable('network')),
  fc.nat(1_000).map((ms) => retryable('status', { status: 503, notBefore: ms })),
)

/** Any reply that ends by itself. */
export const anyReply: fc.Arbitrary<Reply> = fc
  .tuple(
    fc.oneof(
      fc.constant(right({ sink: 'scripted' })),
      failure.map((each) => left(each)),
    ),
    fc.option(fc.nat(50), { nil: undefined }),
    fc.option(fc.nat(50), { nil: undefined }),
    fc.constantFrom('complete', 'complete', 'defect after', 'defect only'),
  )
  .map(([verdict, after, rest, end]) => ({
    ...(end === 'defect only' ? {} : { verdict }),
    ...(after === undefined ? {} : { after }),
    ...(rest === undefined ? {} : { rest }),
    ...(end.startsWith('defect') ? { defect: new Error('planted') } : {}),
  }))

const attempt: fc.Arbitrary<Attempt> = fc.record({
  number: fc.integer({ min: 1, max: 40 }),
  until: fc.constantFrom(Infinity, Number.MAX_SAFE_INTEGER),
  lastFailure: fc.option(failure, { nil: undefined }),
})

interface World {
  readonly reply: Reply
  readonly asked: Attempt
  readonly cancelAt: number | null
}

const layerWorld: fc.Arbitrary<World> = fc.record({
  reply: anyReply,
  asked: attempt,
  cancelAt: fc.option(fc.nat(100), { nil: null }),
})

const heardFrom = (sink: Sink<number>, clock: VirtualClock, { asked, cancelAt }: World): string[] => {
  const heard: string[] = []
  const say = (what: string, value: unknown): void => {
    heard.push(`${clock.monotonic()} ${what} ${JSON.stringify(value)}`)
  }
  const cancel = subscribeTo(sink)(7, asked, {
    next: (verdict) => say('next', verdict),
    complete: () => say('complete', null),
    error: (defect) => say('error', String(defect)),
  })
  if (cancelAt !== null) {
    clock.tick(cancelAt)
    cancel()
  }
  clock.tick(1_000)
  return heard
}

const play = (make: MakeLayer, world: World) => {
  const clock = virtualClock()
  const inner = scriptedSink<number>({ name: 'inner', clock, reply: () => world.reply })
  const outer = make(clock)(inner)
  const heard = heardFrom(outer, clock, world)
  void outer.close(50)()
  const alone = virtualClock()
  const bare = scriptedSink<number>({ name: 'inner', clock: alone, reply: () => world.reply })
  return { inner, outer, clock, heard, bare: heardFrom(bare, alone, world) }
}

export const layerLaws = lawTable(layerWorld, play, {
  'L1 the attempt reaches the sink inside: number, deadline and last failure': (
    { inner }: ReturnType<typeof play>,
    { asked }: World,
  ) => {
    const { number, until, lastFailure } = asked
    const seen = inner.calls.map(({ attempt }) => [attempt.number, attempt.until, attempt.lastFailure])
    same(seen, [[number, until, lastFailure]])
  },
  'L2 what the sink inside emits is emitted, unchanged and in time': ({ heard, bare }) => same(heard, bare),
  'L3 a cancel cancels inside, at its moment': ({ inner }, { cancelAt }) => {
    same(inner.running(), 0)
    holds(cancelAt === null || (inner.calls[0]?.endedAt ?? Infinity) <= cancelAt, 'it ran on')
  },
  'L4 it has the name of the sink inside': ({ outer }) => same(outer.name, 'inner'),
  'L5 close reaches the sink inside with its time': ({ inner }) => same(inner.closed, [50]),
  'L6 no timer is left': ({ clock }) => same(clock.pending(), 0),
})

/** A sink as a host would write it. */
const foreign: Layer = ({ name, deliver, close }) => ({ name, deliver, close })

const silent = (): void => {}

/** A bisection as a layer over numbers: the number n is a batch of n % 5 + 1 members. */
const bisectingNumbers =
  (clock: Clock, only: ReadonlyArray<number>): Layer =>
  (sink) => {
    let last: Parameters<typeof sink.deliver>[0]
    const inside = contramap((_batch: Batch) => last)(sink)
    return contramap((item: typeof last) => {
      last = item
      return batchOf((Number(item) % 5) + 1)
    })(withBisection({ only, clock })(inside))
  }

/** Wishes in the replies are moments from 0 to 1,000: on this clock, which starts at 0, they lie ahead. */
const fromZero = (clock: Clock): Clock => ({ ...clock, now: () => Math.floor(clock.monotonic()) })

/** Each layer with nothing to do. */
const passiveLayers: Readonly<Record<string, (clock: Clock) => Layer>> = {
  'withTimeout, with time enough': (clock) => withTimeout(1_000_000, { clock }),
  'withConcurrency, with room enough': (clock) => withConcurrency({ concurrency: 100, clock }),
  'withConcurrency by key, with room enough': (clock) =>
    withConcurrency({ concurrency: 100, by: (item) => item, clock }),
  'withRetryAfterGate, open': (clock) => withRetryAfterGate({ clock }),
  'withBisection, without a status that divides': (clock) => bisectingNumbers(clock, []),
  withObserver: (clock) => withObserver(silent, { clock }),
  'contramap of the identity':
    () =>
    <A>(sink: Sink<A>) =>
      contramap((item: A): A => item)(sink),
  'a sink of a host': () => foreign,
}

const beside = (clock: Clock, others: Array<ScriptedSink<number>>, reply: Reply) => (sink: Sink<number>) => {
  const other = scriptedSink<number>({ name: 'other', clock, reply: () => reply })
  others.push(other)
  return firstSuccess([sink, other], { name: sink.name, clock })
}

type Wrap = (sink: Sink<number>) => Sink<number>

/** Each layer with work to do. `others` collects the scripted sinks that a layer brings with it. */
const busyLayers: Readonly<Record<string, (clock: Clock, others: Array<ScriptedSink<number>>) => Wrap>> = {
  withTimeout: (clock) => withTimeout(25, { clock }),
  withConcurrency: (clock) => withConcurrency({ concurrency: 2, queue: 2, clock }),
  'withConcurrency by key': (clock) => withConcurrency({ concurrency: 1, by: (item: number) => item, clock }),
  withRetryAfterGate: (clock) => withRetryAfterGate({ clock: fromZero(clock) }),
  withBisection: (clock) => bisectingNumbers(clock, [410]),
  withObserver: (clock) => withObserver(silent, { clock }),
  'withObserver that throws': (clock) =>
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
  'a sink of a host': () => foreign,
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
  ): ((world: StackWorld) => Subject) =>
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

describe('layers in any order keep the contract of a sink', () =>
  it.each(sinkLaws({ worlds: stackWorld, open: openStack() }))('$id', ({ property }) => fc.assert(property)))

it.each(Object.entries(passiveLayers))('%s changes nothing', (_name, make) =>
  fc.assert(layerLaws.all(make), { numRuns: runs(0.5) }),
)
