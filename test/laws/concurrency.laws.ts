/** A concurrency limit, judged by what is seen from outside and by the sink inside. */
import * as fc from 'fast-check'
import { right } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { onlyAttempt, withConcurrency } from '../../src/index.ts'
import { subscribeTo } from '../../src/sink/layer.ts'
import { scriptedSink, virtualClock } from '../../src/testing/index.ts'
import { holds, lawTable, same, type Drawn } from '../support/check.ts'
import { deliverAll, isOver, type Item, type Ran, type Step, stepsOf } from './deliveries.ts'
import { silent } from './memoryLayers.ts'
import type { Trace, Wrap } from './deliveries.ts'

export interface Limits {
  readonly concurrency: number
  readonly queue: number
  readonly by: ((item: Item) => unknown) | undefined
}

export type MakeConcurrency = (limits: Limits) => Wrap

const world = fc.record({
  concurrency: fc.integer({ min: 1, max: 3 }),
  queue: fc.nat(4),
  keyed: fc.boolean(),
  steps: stepsOf(fc.nat(8), {
    gap: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(8)),
    within: fc.option(fc.nat(12)),
    again: fc.constantFrom<Step['again']>(null, null, null, 'next', 'complete'),
  }),
})
type World = Drawn<typeof world>

const refusal = ({ heard }: Ran): string | undefined => {
  const failure = heard[0]?.verdict?._tag === 'Left' ? heard[0].verdict.left : undefined
  if (failure?._tag !== 'Retryable') return undefined
  return ['queueFull', 'late'].includes(failure.reason) ? failure.reason : undefined
}

const freed = (one: Ran): number => {
  if (refusal(one) !== undefined) return one.heard[0]?.order ?? Infinity
  return (one.cancelled ?? one.heard.find(({ what }) => what !== 'next'))?.order ?? Infinity
}

const queueOf = (item: Item, { keyed }: World): number => (keyed ? item.key : 0)

/** Deliveries that wait or run in a queue at some place in the order of things. */
const placed = (ran: ReadonlyArray<Ran>, world: World, queue: number, order: number): ReadonlyArray<Ran> =>
  ran.filter((one) => queueOf(one.item, world) === queue && one.arrived.order < order && freed(one) > order)

const QUEUES = [0, 1, 2]

export const concurrencyLaws = lawTable(
  world,
  (make: MakeConcurrency, { concurrency, queue, keyed, steps }) =>
    deliverAll(make({ concurrency, queue, by: keyed ? ({ key }) => key : undefined }), steps),
  {
    'C1 at most `concurrency` run for each key, until they are complete': ({ ran }: Trace, world: World) => {
      for (const { item, started } of ran) {
        const beside = started?.beside.filter((each) => queueOf(each, world) === queueOf(item, world)) ?? []
        holds(beside.length < world.concurrency, `${beside.length + 1} at a time`)
      }
    },
    'C2 first in, first out, for each key': ({ ran }, world) => {
      for (const queue of QUEUES) {
        const own = ran.filter((one) => queueOf(one.item, world) === queue)
        const starts = own.flatMap(({ started }) => (started ? [started.order] : []))
        holds(!starts.some((order, n) => order < (starts[n - 1] ?? 0)), 'one passed another')
      }
    },
    'C4 a delivery is turned away at once if all places are taken, and only then': ({ ran }, world) => {
      for (const one of ran) {
        const before = placed(ran, world, queueOf(one.item, world), one.arrived.order).length
        const isFull = refusal(one) === 'queueFull'
        same(isFull, before >= world.concurrency + world.queue)
        if (isFull) holds(isOver(one) && (one.heard[0]?.order ?? Infinity) < one.returned, 'it waited')
      }
    },
    'C5 nothing starts at or after its deadline, and nothing is late before it': ({ ran }) => {
      for (const one of ran) {
        const { started, attempt, heard } = one
        holds((started?.at ?? -Infinity) < attempt.until, 'a late start')
        if (refusal(one) === 'late') holds(!started && (heard[0]?.at ?? 0) >= attempt.until, 'late too early')
      }
    },
    'C6 nothing waits while a place is free': ({ ran, looks }, world) => {
      for (const order of looks)
        for (const queue of QUEUES) {
          const all = placed(ran, world, queue, order)
          const running = all.filter(({ started }) => (started?.order ?? Infinity) < order).length
          holds(running === all.length || running === world.concurrency, `${running} of ${all.length} run`)
        }
    },
    'C7 a cancelled delivery stops at once, or never starts': ({ ran }) => {
      for (const { cancelled, started, ranAfterCancel } of ran) {
        holds(!ranAfterCancel, 'it ran on')
        if (cancelled && started) holds(started.order < cancelled.order, 'started after its cancel')
      }
    },
  },
)

const real: MakeConcurrency = ({ concurrency, queue, by }) =>
  by === undefined ? withConcurrency({ concurrency, queue }) : withConcurrency({ concurrency, queue, by })

it('withConcurrency keeps its laws', () => fc.assert(concurrencyLaws.all(real)))

it('cancelling one delivery after the other starts none', async () => {
  const clock = virtualClock()
  const inner = scriptedSink<Item>({ clock, reply: () => ({ verdict: right({ sink: 'inner' }), after: 10 }) })
  const subscribe = subscribeTo(real({ concurrency: 3, queue: 1_000, by: undefined })(inner))
  const cancels = Array.from({ length: 20 }, (_, id) => subscribe({ id, key: 0 }, onlyAttempt, silent))
  for (const cancel of cancels) cancel()
  await clock.runAll()
  expect([inner.calls.length, inner.running()]).toEqual([3, 0])
})

it('does not overflow the stack with 100,000 deliveries that end at once', async () => {
  const clock = virtualClock()
  const verdict = right({ sink: 'inner' })
  const reply = ({ id }: Item) => (id === 0 ? { verdict, after: 5 } : { verdict })
  const subscribe = subscribeTo(
    real({ concurrency: 1, queue: 100_000, by: undefined })(scriptedSink<Item>({ clock, reply })),
  )
  let ended = 0
  const observer = { ...silent, complete: () => ended++ }
  for (let id = 0; id <= 100_000; id++) subscribe({ id, key: 0 }, onlyAttempt, observer)
  await clock.advance(5)
  expect(ended).toBe(100_001)
})
