import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import type { Cancel } from '../../src/core/clock.ts'
import { virtualClock, type VirtualClock } from '../../src/testing/virtualClock.ts'
import { holds, itKeeps, law, lawTable, same, type Law } from '../support/check.ts'

type Ticked = Pick<VirtualClock, 'now' | 'monotonic' | 'schedule' | 'tick' | 'pending' | 'wall'>
export type MakeClock = (start: number) => Ticked & Pick<VirtualClock, 'advance' | 'runAll'>

/** What a test does with a clock, and what a timer does when it runs. */
type Command =
  /** Schedules this many timers, of which the last one runs other commands. */
  | {
      readonly do: 'schedule'
      readonly delay: number
      readonly count: number
      readonly then: ReadonlyArray<Command>
    }
  | { readonly do: 'cancel'; readonly number: number }
  | { readonly do: 'tick'; readonly number: number }
  | { readonly do: 'wall'; readonly number: number }

const START = 1_000_000
const numbered = <Verb extends string>(verb: Verb, number: fc.Arbitrary<number>) =>
  fc.record({ do: fc.constant(verb), number })

const { inner } = fc.letrec<{ inner: Command }>((tie) => ({
  inner: fc.oneof(
    { depthSize: 'small', maxDepth: 3 },
    numbered('cancel', fc.nat({ max: 60 })),
    fc.record({
      do: fc.constant('schedule' as const),
      delay: fc.oneof(fc.nat({ max: 5 }), fc.nat({ max: 100 }), fc.constantFrom(-1, 0.5, NaN)),
      count: fc.oneof(fc.constant(1), fc.nat({ max: 40 })),
      then: fc.array(tie('inner'), { maxLength: 3 }),
    }),
  ),
}))
const command = fc.oneof(
  { weight: 3, arbitrary: inner },
  { weight: 2, arbitrary: numbered('tick', fc.nat({ max: 60 })) },
  { weight: 1, arbitrary: numbered('wall', fc.integer({ min: -9_999, max: 9_999 })) },
)
const commands: fc.Arbitrary<ReadonlyArray<Command>> = fc.array(command, { maxLength: 25, size: 'max' })
type Move<C> = (clock: C, ms: number) => unknown
/** Does what commands say. A `tick` is done by `move`. */
const play = async <C extends Ticked>(clock: C, all: ReadonlyArray<Command>, move: Move<C>) => {
  /** Number of the timer, monotonic time, wall time. */
  const ran: Array<readonly [number, number, number]> = []
  const cancels: Cancel[] = []
  const schedule = (delay: number, then: ReadonlyArray<Command>): void => {
    const number = cancels.length
    const task = (): void => {
      ran.push([number, clock.monotonic(), clock.now()])
      then.forEach(obey)
    }
    cancels.push(clock.schedule(delay, task))
  }
  const obey = (command: Command): unknown => {
    if (command.do === 'cancel') return cancels[command.number]?.()
    if (command.do === 'tick') return move(clock, command.number)
    if (command.do === 'wall') {
      clock.wall(command.number)
      return undefined
    }
    const { count, delay, then } = command
    for (let left = count; left > 0; left--) schedule(delay, left === 1 ? then : [])
    return undefined
  }
  const pending: number[] = []
  for (const command of all) {
    await obey(command)
    pending.push(clock.pending())
  }
  return { ran, pending, monotonic: clock.monotonic(), now: clock.now() }
}

const listClock = (start: number): Ticked => {
  const timers: Array<{ readonly due: number; readonly task: () => void; waits: boolean }> = []
  let elapsed = 0
  let shifted = 0
  const next = (target: number) => {
    let first: (typeof timers)[number] | undefined
    for (const timer of timers)
      if (timer.waits && timer.due <= target && timer.due < (first?.due ?? Infinity)) first = timer
    return first
  }
  return {
    now: () => start + shifted + elapsed,
    monotonic: () => elapsed,
    schedule: (delay, task) => {
      const timer = { due: elapsed + (delay > 0 ? Math.ceil(delay) : 0), task, waits: true }
      timers.push(timer)
      return () => void (timer.waits = false)
    },
    tick: (ms) => {
      const target = elapsed + ms
      for (let timer = next(target); timer !== undefined; timer = next(target)) {
        timer.waits = false
        elapsed = timer.due
        timer.task()
      }
      elapsed = target
    },
    pending: () => timers.filter(({ waits }) => waits).length,
    wall: (shift) => void (shifted += shift),
  }
}

const tableOfClock = lawTable(
  commands,
  async (make: MakeClock, all) => {
    const clock = make(START)
    await play(clock, all, () => undefined)
    await clock.runAll()
    return {
      ticked: await play(make(START), all, (clock, ms) => clock.tick(ms)),
      advanced: await play(make(START), all, (clock, ms) => clock.advance(ms)),
      wanted: await play(listClock(START), all, (clock, ms) => clock.tick(ms)),
      left: clock.pending(),
    }
  },
  {
    'C1 tick runs what is due, by time, then by order of scheduling, at its time': ({ ticked, wanted }) =>
      same(ticked.ran, wanted.ran),
    'C2 pending counts timers that neither ran nor were cancelled': ({ ticked, wanted }) =>
      same(ticked.pending, wanted.pending),
    'C3 the monotonic clock moves by ticks only, the wall clock also by shifts': ({ ticked, wanted }) =>
      same([ticked.monotonic, ticked.now], [wanted.monotonic, wanted.now]),
    'C4 advance runs the same as tick': ({ advanced, wanted }) => same(advanced, wanted),
    'C6 runAll leaves no timer': ({ left }) => same(left, 0),
  },
)

/** What a timer may wait for that is not virtual time. */
const steps: Readonly<Record<string, () => Promise<unknown>>> = {
  promise: () => Promise.resolve(),
  tick: () => new Promise<void>((resolve) => process.nextTick(resolve)),
  immediate: () => new Promise<void>((resolve) => setImmediate(resolve)),
}
const ticks = fc.array(fc.constantFrom('promise', 'tick'), { maxLength: 20 })
const chains = fc.oneof(fc.constant(['immediate']), ticks)

const promiseJobs = (make: MakeClock): Law =>
  law(
    'C5 what a timer starts is over before the next timer: promise jobs, ticks, an immediate',
    fc.array(fc.tuple(fc.nat({ max: 3 }), chains), { minLength: 2, maxLength: 60, size: 'max' }),
    async (timers) => {
      const clock = make(START)
      let running = 0
      for (const [moment, chain] of timers) {
        const play = async (): Promise<void> => {
          for (const step of chain) await steps[step]?.()
          running--
        }
        clock.schedule(moment, () => {
          holds(running++ === 0, 'what an earlier timer started was not over')
          void play()
        })
      }
      await clock.advance(3)
      same(running, 0)
    },
  )

export const virtualClockLaws = (make: MakeClock) => [...tableOfClock.each(make), promiseJobs(make)]
const real: MakeClock = (start) => virtualClock({ start })

describe('virtualClock', () => {
  it('keeps its laws', () => fc.assert(tableOfClock.all(real)))
  itKeeps([promiseJobs(real)])
})
