/** Lanes (DE4, DE7, DE8), judged by what was seen from outside and from below. */
import * as fc from 'fast-check'
import { right } from 'fp-ts/lib/Either.js'
import { runOf } from '../../src/sink/layer.ts'
import { scriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { type Item, limitingWorld, type MakeLimiting, play, type Trace, type World } from './limitingWorld.ts'

interface LimitingLaw {
  readonly id: string
  readonly holds: (trace: Trace, world: World) => boolean
}

const laws: ReadonlyArray<LimitingLaw> = [
  {
    id: 'never more than so many run in a lane, until they are complete',
    holds: ({ peaks }, { concurrency }) => peaks.every((peak) => peak <= concurrency),
  },
  {
    id: 'first come, first served, in each lane',
    holds: ({ seen, starts }) =>
      [0, 1, 2].every((lane) => {
        const here = starts.filter((id) => seen[id]?.lane === lane)
        return here.every((id, at) => at === 0 || id > (here[at - 1] ?? -1))
      }),
  },
  {
    id: 'nothing is lost: who is not cancelled is told one verdict and the end',
    holds: ({ seen }) =>
      seen.every((one) => {
        const said = one.heard.join(' ')
        return one.cancelledAt === undefined
          ? ['next complete', 'laneFull complete', 'late complete', 'error'].includes(said)
          : ['', 'next'].includes(said)
      }),
  },
  {
    id: 'the bound is exact: turned away at once if all places are taken, and only then',
    holds: ({ seen }, { concurrency, queue }) =>
      seen.every((one) => {
        const turnedAway = one.heard.includes('laneFull')
        return turnedAway === one.before >= concurrency + queue && (!turnedAway || one.atOnce)
      }),
  },
  {
    id: 'nothing starts at or after its deadline, and nothing is called late before it',
    holds: ({ seen }) =>
      seen.every(
        (one) =>
          (one.startedAt === undefined || one.startedAt < one.until) &&
          (!one.heard.includes('late') || (one.startedAt === undefined && (one.verdictAt ?? 0) >= one.until)),
      ),
  },
  {
    id: 'nobody waits while there is room',
    holds: ({ samples }, { concurrency }) =>
      samples.every(({ waiting, running }) => waiting === 0 || running === concurrency),
  },
  {
    id: 'who is cancelled stops at once, or never starts',
    holds: ({ seen, brokenCancels }) =>
      brokenCancels === 0 &&
      seen.every((one) => one.cancelledAt === undefined || (one.startedAt ?? 0) <= one.cancelledAt),
  },
  {
    id: 'a lane is forgotten when nothing is in it',
    holds: ({ lanes }, { keyed }) =>
      !keyed || lanes.every(([used, remembered]) => remembered === undefined || used === remembered),
  },
]

/** Behind one that runs, `many` that end on the spot: their ends must not pile up on the stack. */
const longQueue = async (make: MakeLimiting, many: number): Promise<boolean> => {
  const clock = virtualClock()
  const inner = scriptedSink<Item>({
    clock,
    reply: (_item, _attempt, index) => ({
      verdict: right({ sink: 'inner' }),
      ...(index === 0 ? { after: 5 } : {}),
    }),
  })
  const run = runOf(make(inner, { concurrency: 1, queue: many, by: undefined }, clock).sink)
  let ended = 0
  const receiver = { next: () => {}, complete: () => ended++, error: () => {} }
  for (let id = 0; id <= many; id++)
    run({ id, key: 0 }, { number: 1, until: Infinity, lastFailure: undefined }, receiver)
  await clock.advance(5)
  return ended === many + 1
}

/** Who stops a pipeline cancels one delivery after the other; that must not start the next ones. */
const stopped = async (make: MakeLimiting, concurrency: number, many: number): Promise<boolean> => {
  const clock = virtualClock()
  const inner = scriptedSink<Item>({ clock, reply: () => ({ verdict: right({ sink: 'inner' }), after: 10 }) })
  const run = runOf(make(inner, { concurrency, queue: 1_000, by: undefined }, clock).sink)
  const receiver = { next: () => {}, complete: () => {}, error: () => {} }
  const cancels = Array.from({ length: many }, (_, id) =>
    run({ id, key: 0 }, { number: 1, until: Infinity, lastFailure: undefined }, receiver),
  )
  for (const cancel of cancels) cancel()
  await clock.runAll()
  return inner.calls.length === Math.min(many, concurrency) && inner.running() === 0
}

export interface LimitingProperty {
  readonly id: string
  readonly property: fc.IRawProperty<unknown>
  readonly runs: number
}

export const limitingLaws = (
  make: MakeLimiting,
  reached: (trace: Trace) => void = () => {},
): ReadonlyArray<LimitingProperty> => [
  ...laws.map(({ id, holds }) => ({
    id,
    property: fc.asyncProperty(limitingWorld, async (world) => {
      const trace = await play(make, world)
      reached(trace)
      return holds(trace, world)
    }),
    runs: 1000,
  })),
  {
    id: 'a stop starts nothing',
    property: fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.nat(20), (concurrency, many) =>
      stopped(make, concurrency, many),
    ),
    runs: 1000,
  },
  {
    id: 'a long queue of deliveries that end on the spot does not overflow the stack',
    property: fc.asyncProperty(fc.constant(100_000), (many) => longQueue(make, many)),
    runs: 1,
  },
]
