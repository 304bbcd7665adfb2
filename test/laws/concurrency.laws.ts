/** A concurrency limit, judged by what is seen from outside and by the sink inside. Worlds are commands, played on a virtual clock. */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { retryable } from '../../src/core/failure.ts'
import type { Verdict } from '../../src/core/failure.ts'
import { withConcurrency } from '../../src/sink/concurrency.ts'
import { subscribeTo } from '../../src/sink/layer.ts'
import type { Sink } from '../../src/sink/sink.ts'
import { type Reply, scriptedSink } from '../../src/testing/scriptedSink.ts'
import { type VirtualClock, virtualClock } from '../../src/testing/virtualClock.ts'
import type { Law } from '../support/check.ts'

export interface Item {
  readonly id: number
  readonly key: number
}

export interface Limits {
  readonly concurrency: number
  readonly queue: number
  readonly by: ((item: Item) => unknown) | undefined
}

export type MakeConcurrency = (inner: Sink<Item>, limits: Limits, clock: VirtualClock) => Sink<Item>

interface Deliver {
  readonly do: 'deliver'
  readonly key: number
  readonly after: number | null
  readonly rest: number | null
  readonly ends: 'well' | 'badly' | 'as a defect'
  /** From its arrival; null for no deadline. */
  readonly within: number | null
  /** Its observer delivers another one at this moment. */
  readonly again: 'next' | 'complete' | null
}

type Command =
  Deliver | { readonly do: 'cancel'; readonly which: number } | { readonly do: 'pass'; readonly ms: number }

interface World {
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

const concurrencyWorld: fc.Arbitrary<World> = fc.record({
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
  readonly queue: number
  readonly until: number
  /** Places of its queue that were taken when it came. */
  readonly before: number
  readonly heard: string[]
  /** Its verdict was out before the call returned. */
  atOnce: boolean
  verdictAt: number | undefined
  startedAt: number | undefined
  cancelledAt: number | undefined
}

interface Sample {
  readonly queue: number
  readonly waiting: number
  readonly running: number
}

interface Trace {
  readonly seen: ReadonlyArray<Seen>
  /** Ids in the order of their start. */
  readonly starts: ReadonlyArray<number>
  /** Running in its queue, itself included, at each start. */
  readonly peaks: ReadonlyArray<number>
  readonly samples: ReadonlyArray<Sample>
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

const play = async (make: MakeConcurrency, world: World): Promise<Trace> => {
  const clock = virtualClock({ start: 1_000_000 })
  const seen: Seen[] = []
  const plans: Deliver[] = []
  const starts: number[] = []
  const peaks: number[] = []
  const samples: Sample[] = []
  const cancels: Array<() => void> = []
  let brokenCancels = 0

  const queueOf = (key: number): number => (world.keyed ? key : 0)
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
        (call) => call.ended === undefined && queueOf(call.item.key) === one.queue,
      )
      peaks.push(running.length + 1)
      return replyOf(plan)
    },
  })
  const sink = make(
    inner,
    {
      concurrency: world.concurrency,
      queue: world.queue,
      by: world.keyed ? (item) => item.key : undefined,
    },
    clock,
  )
  const subscribe = subscribeTo(sink)

  const start = (plan: Deliver): void => {
    const id = seen.length
    const queue = queueOf(plan.key)
    const one: Seen = {
      id,
      queue,
      until: plan.within === null ? Infinity : clock.now() + plan.within,
      before: seen.filter((other) => other.queue === queue && holdsPlace(other)).length,
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
    const cancel = subscribe(
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
    const used = new Set(seen.filter(holdsPlace).map((one) => one.queue))
    for (const queue of used) {
      const here = seen.filter((one) => one.queue === queue && holdsPlace(one))
      const waiting = here.filter((one) => one.startedAt === undefined).length
      samples.push({ queue, waiting, running: here.length - waiting })
    }
  }

  for (const command of world.commands) {
    if (command.do === 'deliver') start(command)
    else if (command.do === 'cancel') cancel(command.which)
    else clock.tick(command.ms)
    // A place that a cancel freed is taken in a microtask.
    await Promise.resolve()
    look()
  }
  clock.tick(10_000)
  look()
  return { seen, starts, peaks, samples, brokenCancels }
}

interface Check {
  readonly id: string
  readonly holds: (trace: Trace, world: World) => boolean
}

const laws: ReadonlyArray<Check> = [
  {
    id: 'C1 at most `concurrency` run for each key, until they are complete',
    holds: ({ peaks }, { concurrency }) => peaks.every((peak) => peak <= concurrency),
  },
  {
    id: 'C2 first in, first out, for each key',
    holds: ({ seen, starts }) =>
      [0, 1, 2].every((queue) => {
        const here = starts.filter((id) => seen[id]?.queue === queue)
        return here.every((id, at) => at === 0 || id > (here[at - 1] ?? -1))
      }),
  },
  {
    id: 'C3 each delivery that is not cancelled has one verdict and one end',
    holds: ({ seen }) =>
      seen.every((one) => {
        const said = one.heard.join(' ')
        return one.cancelledAt === undefined
          ? ['next complete', 'laneFull complete', 'late complete', 'error'].includes(said)
          : ['', 'next'].includes(said)
      }),
  },
  {
    id: 'C4 a delivery is turned away at once if all places are taken, and only then',
    holds: ({ seen }, { concurrency, queue }) =>
      seen.every((one) => {
        const turnedAway = one.heard.includes('laneFull')
        return turnedAway === one.before >= concurrency + queue && (!turnedAway || one.atOnce)
      }),
  },
  {
    id: 'C5 nothing starts at or after its deadline, and nothing is late before it',
    holds: ({ seen }) =>
      seen.every(
        (one) =>
          (one.startedAt === undefined || one.startedAt < one.until) &&
          (!one.heard.includes('late') || (one.startedAt === undefined && (one.verdictAt ?? 0) >= one.until)),
      ),
  },
  {
    id: 'C6 nothing waits while a place is free',
    holds: ({ samples }, { concurrency }) =>
      samples.every(({ waiting, running }) => waiting === 0 || running === concurrency),
  },
  {
    id: 'C7 a cancelled delivery stops at once, or never starts',
    holds: ({ seen, brokenCancels }) =>
      brokenCancels === 0 &&
      seen.every((one) => one.cancelledAt === undefined || (one.startedAt ?? 0) <= one.cancelledAt),
  },
]

/** Behind one that runs, `many` that end at once. */
const longQueue = async (make: MakeConcurrency, many: number): Promise<boolean> => {
  const clock = virtualClock()
  const inner = scriptedSink<Item>({
    clock,
    reply: (_item, _attempt, index) => ({
      verdict: right({ sink: 'inner' }),
      ...(index === 0 ? { after: 5 } : {}),
    }),
  })
  const subscribe = subscribeTo(make(inner, { concurrency: 1, queue: many, by: undefined }, clock))
  let ended = 0
  const observer = { next: () => {}, complete: () => ended++, error: () => {} }
  for (let id = 0; id <= many; id++)
    subscribe({ id, key: 0 }, { number: 1, until: Infinity, lastFailure: undefined }, observer)
  await clock.advance(5)
  return ended === many + 1
}

/** Cancels one delivery after the other; that must not start the next ones. */
const stopped = async (make: MakeConcurrency, concurrency: number, many: number): Promise<boolean> => {
  const clock = virtualClock()
  const inner = scriptedSink<Item>({ clock, reply: () => ({ verdict: right({ sink: 'inner' }), after: 10 }) })
  const subscribe = subscribeTo(make(inner, { concurrency, queue: 1_000, by: undefined }, clock))
  const observer = { next: () => {}, complete: () => {}, error: () => {} }
  const cancels = Array.from({ length: many }, (_, id) =>
    subscribe({ id, key: 0 }, { number: 1, until: Infinity, lastFailure: undefined }, observer),
  )
  for (const cancel of cancels) cancel()
  await clock.runAll()
  return inner.calls.length === Math.min(many, concurrency) && inner.running() === 0
}

export const concurrencyLaws = (make: MakeConcurrency): ReadonlyArray<Law> => [
  ...laws.map(({ id, holds }) => ({
    id,
    property: fc.asyncProperty(concurrencyWorld, async (world) => holds(await play(make, world), world)),
  })),
  {
    id: 'C8 cancelling everything starts nothing',
    property: fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.nat(20), (concurrency, many) =>
      stopped(make, concurrency, many),
    ),
  },
]

const real: MakeConcurrency = (inner, { concurrency, queue, by }, clock) =>
  by === undefined
    ? withConcurrency({ concurrency, queue, clock })(inner)
    : withConcurrency({ concurrency, queue, by, clock })(inner)

describe('withConcurrency', () => {
  it.each(concurrencyLaws(real))('$id', ({ property }) => fc.assert(property))

  it('does not overflow the stack with 100,000 deliveries that end at once', async () => {
    expect(await longQueue(real, 100_000)).toBe(true)
  })
})
