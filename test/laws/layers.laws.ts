/** The layers of this package: each with nothing to do, and in any order with work to do. */
import { right } from 'fp-ts/lib/Either.js'
import { describe, it } from 'vitest'
import { contramap, firstSuccess, withBisection, withConcurrency, withObserver } from '../../src/index.ts'
import { withRetryAfterGate, withTimeout, type Layer, type Sink } from '../../src/index.ts'
import { layerLaws, registerLaws, sinkLaws, type Law } from '../../src/testing/laws/index.ts'
import type { MakeLayer } from '../../src/testing/laws/layerLaws.ts'
import { networkSink, type SinkItem } from '../../src/testing/laws/sinkWorld.ts'
import { type Reply, scriptedSink } from '../../src/testing/scriptedSink.ts'
import { batchOf, type Batch } from '../support/batches.ts'
import { profile, runs } from '../support/runs.ts'
import { throwing } from '../support/check.ts'

const foreign: Layer = ({ name, deliver, close }) => ({ name, deliver, close })
const silent = (): void => {}

/** A bisection as a layer over items: the item with the value n is a batch of n % 5 + 1 members. */
const bisecting = (only: ReadonlyArray<number>) => (sink: Sink<SinkItem>) => {
  let last: SinkItem = { id: '', value: 0 }
  const inside = contramap((_batch: Batch) => last)(sink)
  return contramap((item: SinkItem) => {
    last = item
    return batchOf((item.value % 5) + 1)
  })(withBisection({ only })(inside))
}

const passive: Readonly<Record<string, MakeLayer>> = {
  'withTimeout, with time enough': () => withTimeout({ timeout: 1_000_000 }),
  'withConcurrency, one at a time': () => withConcurrency({ concurrency: 1 }),
  'withConcurrency by key, with room enough': () => withConcurrency({ concurrency: 100, by: (item) => item }),
  'withRetryAfterGate, open': () => withRetryAfterGate(),
  'withBisection, without a status that divides': () => bisecting([]),
  withObserver: () => withObserver({ onEvent: silent }),
  'contramap of the identity': () => contramap((item) => item),
  'a sink of a host': () => foreign,
}

/** The laws of a sink follow from those of a layer that passes all on: the short profile leaves them out. */
const isAsked = ({ id }: Law): boolean => profile !== 'short' || id.startsWith('layer/')

describe.each(Object.entries(passive))('%s', (_name, make) =>
  registerLaws({ test: it }, layerLaws(make).filter(isAsked), { runs: runs(0.3) }),
)

const beside =
  (reply: Reply): MakeLayer =>
  ({ clock }) =>
  (sink) =>
    firstSuccess([sink, scriptedSink({ name: `${sink.name}, other`, clock, reply: () => reply })], {
      name: sink.name,
    })

const busy: Readonly<Record<string, MakeLayer>> = {
  withTimeout: () => withTimeout({ timeout: 25 }),
  withConcurrency: () => withConcurrency({ concurrency: 2, queue: 2 }),
  'withConcurrency by key': () => withConcurrency({ concurrency: 1, by: JSON.stringify }),
  withRetryAfterGate: () => withRetryAfterGate(),
  withBisection: () => bisecting([410]),
  'withObserver that throws': () => withObserver({ onEvent: throwing('planted') }),
  'first success alone': () => (sink) => firstSuccess([sink]),
  'first success beside one that wins': beside({ verdict: right({ sink: 'other' }), after: 10, rest: 40 }),
  'first success beside one that throws': beside({ defect: new Error('planted'), after: 5 }),
  contramap: () => contramap((item) => ({ ...item, value: item.value + 1 })),
  'a sink of a host': () => foreign,
}

const stack: MakeLayer = (world) => (sink) => {
  const names = Object.keys(busy)
  const chosen = Array.from({ length: Math.floor(world.random() * 6) }, () => {
    return names[Math.floor(world.random() * names.length)] ?? ''
  })
  world.log(`layers: ${chosen.join(', ')}`)
  return chosen.reduce((inner, name) => busy[name]?.(world)(inner) ?? inner, sink)
}

/** A layer that answers by itself, or asks another sink, says nothing about the network. */
const aboutVerdicts = /accepted|retryable|final|each-subscription|sends-the-item/

describe('layers in any order keep the laws of a sink', () =>
  registerLaws(
    { test: it },
    sinkLaws((world) => stack(world)(networkSink(world))).filter(({ id }) => !aboutVerdicts.test(id)),
  ))
