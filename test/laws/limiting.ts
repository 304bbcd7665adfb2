/** Lanes (DE4, DE7, DE8): played from commands that are plain data, then judged by what was seen from outside and from below. */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { retryable } from '../../src/outcome/Failure.ts'
import type { Verdict } from '../../src/outcome/Verdict.ts'
import { runOf } from '../../src/sink/Run.ts'
import type { Sink } from '../../src/sink/Sink.ts'
import { type Reply, scriptedSink } from '../../src/testing/scriptedSink.ts'
import { type VirtualClock, virtualClock } from '../../src/testing/virtualClock.ts'

export interface Item {
  readonly id: number
  readonly key: number
}

export interface Limits {
  readonly concurrency: number
  readonly queue: number
  readonly by: ((item: Item) => unknown) | undefined
}

export interface Limited {
  readonly sink: Sink<Item>
  /** How many lanes are remembered; undefined if that cannot be seen. */
  readonly lanes: (() => number) | undefined
}

export type MakeLimiting = (inner: Sink<Item>, limits: Limits, clock: VirtualClock) => Limited

interface Deliver {
  readonly do: 'deliver'
  readonly key: number
  readonly after: number | null
  readonly rest: number | null
  readonly ends: 'well' | 'badly' | 'as a defect'
  /** From its arrival; null for no deadline. */
  readonly within: number | null
  /** Its receiver delivers another one at this moment. */
  readonly again: 'next' | 'complete' | null
}

type Command =
  Deliver | { readonly do: 'cancel'; readonly which: number } | { readonly do: 'pass'; readonly ms: number }

export interface World {
  readonly concurrency: number
  readonly queue: number
  readonly keyed: boolean
  readonly commands: ReadonlyArray<Command>
}

const moment = fc.option(fc.nat(8))

const deliver: fc.Arbitrary<Deliver> = fc.record({
  do: fc.constant('deliver'),
  key: fc.nat(2),
  after: moment,
  rest: moment,
  ends: fc.constantFrom('well', 'well', 'badly', 'as a defect'),
  within: fc.option(fc.nat(12), { nil: null }),
  again: fc.constantFrom(null, null, null, 'next', 'complete'),
})

export const limitingWorld: fc.Arbitrary<World> = fc.record({
  concurrency: fc.integer({ min: 1, max: 3 }),
  queue: fc.nat(4),
  keyed: fc.boolean(),
  commands: fc.array(
    fc.oneof(
      { weight: 6, arbitrary: deliver },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel'), which: fc.nat(30) }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('pass'), ms: fc.nat(8) }) },
    ),
    { minLength: 1, maxLength: 40, size: 'max' },
  ),
})

interface Seen {
  readonly id: number
  readonly lane: number
  readonly until: number
  /** Places of its lane that were taken when it came. */
  readonly before: number
  readonly heard: string[]
  /** Its verdict was out before the call returned. */
  atOnce: boolean
  verdictAt: number | undefined
  startedAt: number | undefined
  cancelledAt: number | undefined
}

interface Sample {
  readonly lane: number
  readonly waiting: number
  readonly running: number
}

export interface Trace {
  readonly seen: ReadonlyArray<Seen>
  /** Ids in the order of their start. */
  readonly starts: ReadonlyArray<number>
  /** Running in its lane, itself included, at each start. */
  readonly peaks: ReadonlyArray<number>
  readonly samples: ReadonlyArray<Sample>
  /** Lanes in use, and lanes remembered. */
  readonly lanes: ReadonlyArray<readonly [number, number | undefined]>
  readonly brokenCancels: number
}

const NO_PLACE = ['laneFull', 'late']

const holdsPlace = (one: Seen): boolean =>
  one.cancelledAt === undefined &&
  !one.heard.some((said) => said === 'complete' || said === 'error' || NO_PLACE.includes(said))

const spoken = (verdict: Verdict): string =>
  verdict._tag === 'Left' && verdict.left._tag === 'Retryable' && NO_PLACE.includes(verdict.left.reason)
    ? verdict.left.reason
    : 'next'

const replyOf = ({ after, rest, ends }: Deliver): Reply => ({
  ...(ends === 'well' ? { verdict: right({ sink: 'inner' }) } : {}),
  ...(ends === 'badly' ? { verdict: left(retryable('network')) } : {}),
  ...(ends === 'as a defect' ? { defect: new Error('planted') } : {}),
  ...(after === null ? {} : { after }),
  ...(rest === null ? {} : { rest }),
})

export const play = async (make: MakeLimiting, world: World): Promise<Trace> => {
  const clock = virtualClock({ start: 1_000_000 })
  const seen: Seen[] = []
  const plans: Deliver[] = []
  const starts: number[] = []
  const peaks: number[] = []
  const samples: Sample[] = []
  const lanes: Array<readonly [number, number | undefined]> = []
  const cancels: Array<() => void> = []
  let brokenCancels = 0

  const laneOf = (key: number): number => (world.keyed ? key : 0)
  const inner = scriptedSink<Item>({
    name: 'inner',
    clock,
    reply: ({ id }) => {
      const one = seen[id]
      const plan = plans[id]
      if (one === undefined || plan === undefined) throw new Error('unknown item')
      one.startedAt = clock.now()
      starts.push(id)
      const running = inner.calls.filter(
        (call) => call.ended === undefined && laneOf(call.item.key) === one.lane,
      )
      peaks.push(running.length + 1)
      return replyOf(plan)
    },
  })
  const { sink, lanes: remembered } = make(
    inner,
    {
      concurrency: world.concurrency,
      queue: world.queue,
      by: world.keyed ? (item) => item.key : undefined,
    },
    clock,
  )
  const run = runOf(sink)

  const start = (plan: Deliver): void => {
    const id = seen.length
    const lane = laneOf(plan.key)
    const one: Seen = {
      id,
      lane,
      until: plan.within === null ? Infinity : clock.now() + plan.within,
      before: seen.filter((other) => other.lane === lane && holdsPlace(other)).length,
      heard: [],
      atOnce: false,
      verdictAt: undefined,
      startedAt: undefined,
      cancelledAt: undefined,
    }
    seen.push(one)
    plans.push(plan)
    const hear = (said: string, at: 'next' | 'complete'): void => {
      one.heard.push(said)
      if (plan.again === at) start({ ...plan, again: null })
    }
    const cancel = run(
      { id, key: plan.key },
      { number: 1, until: one.until, prior: undefined },
      {
        next: (verdict) => {
          one.verdictAt = clock.now()
          hear(spoken(verdict), 'next')
        },
        complete: () => hear('complete', 'complete'),
        error: () => hear('error', 'complete'),
      },
    )
    one.atOnce = one.verdictAt !== undefined
    cancels[id] = cancel
  }

  const cancel = (which: number): void => {
    const id = which % Math.max(1, seen.length)
    const one = seen[id]
    if (one === undefined) return
    if (holdsPlace(one)) one.cancelledAt = clock.now()
    cancels[id]?.()
    if (inner.calls.some((call) => call.item.id === id && call.ended === undefined)) brokenCancels++
  }

  const look = (): void => {
    const used = new Set(seen.filter(holdsPlace).map((one) => one.lane))
    for (const lane of used) {
      const here = seen.filter((one) => one.lane === lane && holdsPlace(one))
      const waiting = here.filter((one) => one.startedAt === undefined).length
      samples.push({ lane, waiting, running: here.length - waiting })
    }
    lanes.push([used.size, remembered?.()])
  }

  for (const command of world.commands) {
    if (command.do === 'deliver') start(command)
    else if (command.do === 'cancel') cancel(command.which)
    else await clock.advance(command.ms)
    await clock.settle()
    look()
  }
  await clock.runAll()
  look()
  return { seen, starts, peaks, samples, lanes, brokenCancels }
}

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
    run({ id, key: 0 }, { number: 1, until: Infinity, prior: undefined }, receiver)
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
    run({ id, key: 0 }, { number: 1, until: Infinity, prior: undefined }, receiver),
  )
  for (const cancel of cancels) cancel()
  await clock.runAll()
  return inner.calls.length === Math.min(many, concurrency) && inner.running() === 0
}

export interface CheckableLaw {
  readonly id: string
  readonly property: fc.IRawProperty<unknown>
  readonly runs: number
}

export const limitingLaws = (
  make: MakeLimiting,
  reached: (trace: Trace) => void = () => {},
): ReadonlyArray<CheckableLaw> => [
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
