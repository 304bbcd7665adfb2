import { Subject, debounceTime, interval, take, timer } from 'rxjs'
import { expect, it, test } from 'vitest'
import { backgroundClock, nextTurn, perClock, steady } from '../../src/core/clock.ts'
import { systemClock, toScheduler } from '../../src/core/clock.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

const world = () => {
  const clock = virtualClock({ start: 1_000 })
  const log: string[] = []
  const say = (what: unknown) => log.push(`${clock.monotonic()} ${String(what)}`)
  return { clock, scheduler: toScheduler(clock), log, say }
}

it('runs a timer once, at a delay or a Date, or again and again, and leaves none behind', () => {
  const { clock, scheduler, log, say } = world()
  timer(29, scheduler).subscribe({ next: say, complete: () => say('done') })
  interval(10, scheduler).pipe(take(3)).subscribe(say)
  timer(5, 20, scheduler).pipe(take(2)).subscribe(say)
  timer(new Date(1_012), scheduler).subscribe(say)
  clock.tick(28)
  expect(log).toEqual(['5 0', '10 0', '12 0', '20 1', '25 1'])
  clock.tick(1_000)
  expect([log.slice(5), clock.pending()]).toEqual([['29 0', '29 done', '30 2'], 0])
})

it('cancels on unsubscribe, before the first run, between two and within one', () => {
  const { clock, scheduler, log, say } = world()
  const before = interval(10, scheduler).subscribe(say)
  const between = interval(10, scheduler).subscribe(say)
  const within = interval(10, scheduler).subscribe(() => {
    say('last')
    within.unsubscribe()
  })
  before.unsubscribe()
  clock.tick(10)
  between.unsubscribe()
  expect(clock.pending()).toBe(0)
  clock.tick(100)
  expect(log).toEqual(['10 0', '10 last'])
})

it('measures durations while the wall clock is set', () => {
  const { clock, scheduler, log, say } = world()
  const typed = new Subject<string>()
  typed.pipe(debounceTime(10, scheduler)).subscribe(say)
  typed.next('a')
  clock.tick(5)
  typed.next('b')
  clock.wall(-3_600_000)
  clock.tick(100)
  expect(log).toEqual(['15 b'])
})

it('gives work its state, its own schedule and one timer at a time, as RxJS does', () => {
  const { clock, scheduler, say, log } = world()
  const action = scheduler.schedule<number>(
    function (count) {
      say(count)
      if (count < 2) {
        this.schedule(9, 50)
        this.schedule(count + 1, 10)
      }
    },
    5,
    0,
  )
  clock.tick(1_000)
  expect([log, clock.pending()]).toEqual([['5 0', '15 1', '25 2'], 0])
  action.unsubscribe()
  expect(action.closed).toBe(true)
})

it('throws what work throws, and does not run it again', () => {
  const { clock, scheduler } = world()
  const action = scheduler.schedule(function () {
    this.schedule(undefined, 1)
    throw new Error('oops')
  })
  expect(() => clock.tick(0)).toThrow('oops')
  expect([action.closed, clock.pending()]).toEqual([true, 0])
})

const soon = (task: () => void) => systemClock.schedule(1, task)
it.each([nextTurn, soon])('%o runs in a later turn, in order, and not when cancelled', async (later) => {
  const log: string[] = []
  later(() => log.push('first'))
  const cancel = later(() => log.push('cancelled'))
  const done = new Promise<void>((resolve) => later(resolve)).then(() => log.push('second'))
  cancel()
  cancel()
  log.push('now')
  void Promise.resolve().then(() => log.push('job'))
  await done
  expect(log).toEqual(['now', 'job', 'first', 'second'])
})

test('steady follows a wall clock that is a second ahead, never back, and a clock has one reading', () => {
  const clock = virtualClock({ start: 1_000 })
  const first = steady(clock)
  const seen = [5, 994, -60_000, 60_001, -2_000].map((shift) => {
    clock.tick(5)
    clock.wall(shift)
    return first() === steady(clock)() && first()
  })
  expect(seen).toEqual([1_005, 1_010, 1_015, 2_020, 2_025])
})

it('keeps the process alive unless the timer says that it does not', () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const before = timers()
  const open = [true, false].flatMap((holds) =>
    [systemClock, backgroundClock].map(({ schedule }) => schedule(60_000, () => undefined, { holds })),
  )
  expect(timers() - before).toBe(2)
  for (const cancel of open) cancel()
})

it('has one state for each clock, and one for both clocks of the machine', () => {
  const stateOf = perClock((clock) => ({ clock }))
  const [one, other] = [virtualClock(), virtualClock()]
  expect([one, other, one].map((clock) => stateOf(clock).clock)).toEqual([one, other, one])
  expect(stateOf(one)).toBe(stateOf(one))
  expect(stateOf(backgroundClock)).toBe(stateOf(systemClock))
  expect(steady(backgroundClock)).toBe(steady(systemClock))
})
