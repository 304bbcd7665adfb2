import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import type { Cancel } from '../../src/core/clock.ts'
import { virtualClock, type VirtualClock } from '../../src/testing/virtualClock.ts'
import { holds, type Law, lawTable, same, turns } from '../support/check.ts'

type Moved = Omit<VirtualClock, 'sleep' | 'run' | 'hold' | 'timers'>

export type MakeClock = (start: number) => Moved

/** What a test or one of its timers does with a clock. */
type Command =
  | { readonly do: 'schedule'; readonly delay: number; readonly then: ReadonlyArray<Command> }
  /** Many timers at few moments: ties. */
  | { readonly do: 'crowd'; readonly count: number; readonly moments: number }
  /** The timer with this number, in any state. */
  | { readonly do: 'cancel'; readonly which: number }
  /** All timers so far except every n-th. */
  | { readonly do: 'cancelMost'; readonly keep: number }
  | { readonly do: 'tick'; readonly ms: number }
  | { readonly do: 'wall'; readonly shift: number }

interface Seen {
  /** Number of the timer, monotonic time, wall time. */
  readonly ran: ReadonlyArray<readonly [number, number, number]>
  /** After each command of the test. */
  readonly pending: ReadonlyArray<number>
  readonly monotonic: number
  readonly now: number
}

const START = 1_000_000

const delays = fc.oneof(fc.nat({ max: 5 }), fc.nat({ max: 100 }), fc.constantFrom(-1, 0.5, NaN, 0))
const { command } = fc.letrec<{ command: Command; inner: Command }>((tie) => ({
  inner: fc.oneof(
    { depthSize: 'small', maxDepth: 3 },
    fc.record({ do: fc.constant('cancel' as const), which: fc.nat({ max: 400 }) }),
    fc.record({
      do: fc.constant('schedule' as const),
      delay: delays,
      then: fc.array(tie('inner'), { maxLength: 3 }),
    }),
  ),
  command: fc.oneof(
    { weight: 4, arbitrary: tie('inner') },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('tick' as const), ms: fc.nat({ max: 60 }) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('crowd' as const),
        count: fc.nat({ max: 150 }),
        moments: fc.integer({ min: 1, max: 4 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('cancelMost' as const), keep: fc.integer({ min: 2, max: 9 }) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('wall' as const),
        shift: fc.integer({ min: -9_999, max: 9_999 }),
      }),
    },
  ),
}))

const commands: fc.Arbitrary<ReadonlyArray<Command>> = fc.array(command, {
  maxLength: 25,
  size: 'max',
})

/** Does what a command says, except moving the time. */
const doer = (clock: Moved, ran: Array<readonly [number, number, number]>) => {
  const cancels: Cancel[] = []
  const obey = (command: Command): void => {
    switch (command.do) {
      case 'schedule': {
        const number = cancels.length
        cancels.push(
          clock.schedule(command.delay, () => {
            ran.push([number, clock.monotonic(), clock.now()])
            command.then.forEach(obey)
          }),
        )
        return
      }
      case 'crowd':
        for (let i = 0; i < command.count; i++) obey({ do: 'schedule', delay: i % command.moments, then: [] })
        return
      case 'cancel':
        cancels[command.which % Math.max(1, cancels.length)]?.()
        return
      case 'cancelMost':
        cancels.forEach((cancel, i) => {
          if (i % command.keep !== 0) cancel()
        })
        return
      case 'wall':
        clock.wall(command.shift)
        return
      case 'tick':
    }
  }
  return obey
}

const play = async (make: MakeClock, all: ReadonlyArray<Command>, way: 'tick' | 'advance'): Promise<Seen> => {
  const clock = make(START)
  const ran: Array<readonly [number, number, number]> = []
  const obey = doer(clock, ran)
  const pending: number[] = []
  for (const command of all) {
    if (command.do !== 'tick') obey(command)
    else if (way === 'tick') clock.tick(command.ms)
    else await clock.advance(command.ms)
    pending.push(clock.pending())
  }
  return { ran, pending, monotonic: clock.monotonic(), now: clock.now() }
}

/** A clock over a plain list, searched from its start for each timer. */
const listClock: MakeClock = (start) => {
  const timers: Array<{ readonly due: number; readonly task: () => void; waits: boolean }> = []
  let elapsed = 0
  let shifted = 0
  const next = (target: number) => {
    let first: (typeof timers)[number] | undefined
    for (const timer of timers)
      if (timer.waits && timer.due <= target && timer.due < (first?.due ?? Infinity)) first = timer
    return first
  }
  const advanceTo = async (target: number): Promise<void> => {
    tickTo(target)
    return turns()
  }
  const tickTo = (target: number): void => {
    for (let timer = next(target); timer !== undefined; timer = next(target)) {
      timer.waits = false
      elapsed = Math.max(elapsed, timer.due)
      timer.task()
    }
    elapsed = Math.max(elapsed, target)
  }
  return {
    now: () => start + shifted + elapsed,
    monotonic: () => elapsed,
    schedule: (delay, task) => {
      const timer = { due: elapsed + (delay > 0 ? Math.ceil(delay) : 0), task, waits: true }
      timers.push(timer)
      return () => {
        timer.waits = false
      }
    },
    tick: (ms) => tickTo(elapsed + ms),
    advance: (ms) => advanceTo(elapsed + ms),
    settle: () => turns(),
    runAll: () => advanceTo(Number.MAX_VALUE),
    pending: () => timers.filter(({ waits }) => waits).length,
    wall: (shift) => {
      shifted += shift
    },
  }
}

const tableOfClock = lawTable(
  commands,
  async (make: MakeClock, all) => {
    const clock = make(START)
    all.forEach(doer(clock, []))
    await clock.runAll()
    return {
      ticked: await play(make, all, 'tick'),
      advanced: await play(make, all, 'advance'),
      wanted: await play(listClock, all, 'tick'),
      left: clock.pending(),
    }
  },
  {
    'C1 tick runs what is due, by time and then by order of scheduling, each at its time': ({
      ticked,
      wanted,
    }) => same(ticked.ran, wanted.ran),
    'C2 pending counts timers that neither ran nor were cancelled': ({ ticked, wanted }) =>
      same(ticked.pending, wanted.pending),
    'C3 the monotonic clock moves by ticks only, the wall clock also by shifts': ({ ticked }, all) => {
      const passed = all.reduce((sum, each) => sum + (each.do === 'tick' ? each.ms : 0), 0)
      const shifted = all.reduce((sum, each) => sum + (each.do === 'wall' ? each.shift : 0), 0)
      same([ticked.monotonic, ticked.now], [passed, START + passed + shifted])
    },
    'C4 advance runs the same as tick': ({ advanced, wanted }) => same(advanced, wanted),
    'C6 runAll leaves no timer': ({ left }) => same(left, 0),
  },
)

const promiseJobs = (make: MakeClock): Law => ({
  id: 'C5 advance runs every promise job between two timers',
  property: fc.asyncProperty(fc.array(fc.nat({ max: 3 }), { minLength: 2 }), async (moments) => {
    const clock = make(START)
    let chains = 0
    for (const moment of moments) {
      clock.schedule(moment, () => {
        holds(chains === 0, 'a promise chain of an earlier timer was not over')
        chains++
        const chain = async (): Promise<void> => {
          for (let i = 0; i < 20; i++) await Promise.resolve()
          chains--
        }
        void chain()
      })
    }
    await clock.advance(3)
    same(chains, 0)
  }),
})

export const virtualClockLaws = (make: MakeClock): ReadonlyArray<Law> => [
  ...tableOfClock.each(make),
  promiseJobs(make),
]

const real: MakeClock = (start) => virtualClock({ start })

describe('virtualClock', () => {
  it('keeps its laws', () => fc.assert(tableOfClock.all(real)))
  it(promiseJobs(real).id, () => fc.assert(promiseJobs(real).property))
})
