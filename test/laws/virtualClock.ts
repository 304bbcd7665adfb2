/** The laws of a virtual clock: it does what a list of timers, looked through from the start each time, would do. */
import * as fc from 'fast-check'
import type { Cancel } from '../../src/core/clock.ts'
import type { VirtualClock } from '../../src/testing/virtualClock.ts'
import { holds, same } from './policyLaw.ts'

export type MakeClock = (start: number) => VirtualClock

/** What a test, or a timer of it, does with a clock. Plain data. */
export type Command =
  | { readonly do: 'schedule'; readonly delay: number; readonly then: ReadonlyArray<Command> }
  /** Many timers at few moments: ties. */
  | { readonly do: 'crowd'; readonly count: number; readonly moments: number }
  /** Of all timers so far, the one with this number, whatever became of it. */
  | { readonly do: 'cancel'; readonly which: number }
  /** All timers so far but every n-th. */
  | { readonly do: 'cancelMost'; readonly keep: number }
  | { readonly do: 'tick'; readonly ms: number }
  | { readonly do: 'wall'; readonly shift: number }

export interface Seen {
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

export const commands: fc.Arbitrary<ReadonlyArray<Command>> = fc.array(command, {
  maxLength: 25,
  size: 'max',
})

/** Does what a command says, but for the moving of time. */
const doer = (clock: VirtualClock, ran: Array<readonly [number, number, number]>) => {
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

export const playTicks = (make: MakeClock, all: ReadonlyArray<Command>): Seen => {
  const clock = make(START)
  const ran: Array<readonly [number, number, number]> = []
  const obey = doer(clock, ran)
  const pending = all.map((command) => {
    if (command.do === 'tick') clock.tick(command.ms)
    else obey(command)
    return clock.pending()
  })
  return { ran, pending, monotonic: clock.monotonic(), now: clock.now() }
}

export const playAdvances = async (make: MakeClock, all: ReadonlyArray<Command>): Promise<Seen> => {
  const clock = make(START)
  const ran: Array<readonly [number, number, number]> = []
  const obey = doer(clock, ran)
  const pending: number[] = []
  for (const command of all) {
    if (command.do === 'tick') await clock.advance(command.ms)
    else obey(command)
    pending.push(clock.pending())
  }
  return { ran, pending, monotonic: clock.monotonic(), now: clock.now() }
}

export interface ClockLaw {
  readonly id: string
  readonly property: fc.IAsyncProperty<unknown> | fc.IProperty<unknown>
}

export const virtualClockLaws = (make: MakeClock, model: MakeClock): ReadonlyArray<ClockLaw> => [
  {
    id: 'C1 ticks run what is due: in the order of time, then of scheduling, each at its own time',
    property: fc.property(commands, (all) => {
      same(playTicks(make, all).ran, playTicks(model, all).ran)
    }),
  },
  {
    id: 'C2 pending counts what was neither run nor cancelled',
    property: fc.property(commands, (all) => {
      same(playTicks(make, all).pending, playTicks(model, all).pending)
    }),
  },
  {
    id: 'C3 the monotonic clock moves by ticks alone, the wall clock also by steps',
    property: fc.property(commands, (all) => {
      const { monotonic, now } = playTicks(make, all)
      const ticked = all.reduce((sum, each) => sum + (each.do === 'tick' ? each.ms : 0), 0)
      const stepped = all.reduce((sum, each) => sum + (each.do === 'wall' ? each.shift : 0), 0)
      same([monotonic, now], [ticked, START + ticked + stepped])
    }),
  },
  {
    id: 'C4 advance runs the same as tick',
    property: fc.asyncProperty(commands, async (all) => {
      same(await playAdvances(make, all), playTicks(model, all))
    }),
  },
  {
    id: 'C5 between two timers of an advance every promise job runs',
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
  },
  {
    id: 'C6 runAll leaves nothing',
    property: fc.asyncProperty(commands, async (all) => {
      const clock = make(START)
      const ran: Array<readonly [number, number, number]> = []
      all.forEach(doer(clock, ran))
      await clock.runAll()
      same(clock.pending(), 0)
    }),
  },
]
