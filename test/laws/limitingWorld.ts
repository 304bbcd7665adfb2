/** Worlds for the laws of lanes: commands that are plain data, played on a virtual clock, and what was seen of it. */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { retryable } from '../../src/core/failure.ts'
import type { Verdict } from '../../src/core/failure.ts'
import { runOf } from '../../src/sink/layer.ts'
import type { Sink } from '../../src/sink/sink.ts'
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
      { number: 1, until: one.until, lastFailure: undefined },
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
    else clock.tick(command.ms)
    // A place that a cancel freed is given on in a promise job.
    await Promise.resolve()
    look()
  }
  clock.tick(10_000)
  look()
  return { seen, starts, peaks, samples, lanes, brokenCancels }
}
