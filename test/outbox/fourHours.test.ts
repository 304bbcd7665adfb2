import { type Either, left, right } from 'fp-ts/lib/Either.js'
import { NEVER, Subject, concat, of } from 'rxjs'
import { expect, it } from 'vitest'
import { deliver, retryable } from '../../src/index.ts'
import { scriptedSink, seededRandom, virtualClock } from '../../src/testing/index.ts'

const HOUR = 3_600_000

it.each([
  ['a machine that slept ten hours makes no attempt after four hours', 10, 1],
  ['a machine whose clock is set back five hours keeps its deadlines', -5, 3],
])('%s of a dead receiver', (_, shift, hours) => {
  const clock = virtualClock()
  const ended: string[] = []
  const dead = scriptedSink<number>({ clock, reply: () => ({ verdict: left(retryable('network')) }) })
  concat(of(right(1)), NEVER)
    .pipe(deliver(dead, { clock, random: seededRandom(7) }))
    .subscribe((outcome) => ended.push(outcome._tag))
  clock.tick(HOUR)
  const before = dead.calls.length
  // The monotonic clock stands still while a machine sleeps.
  clock.wall(shift * HOUR)
  clock.tick(hours * HOUR)
  expect(ended).toEqual(['Expired'])
  if (shift > 0) expect(dead.calls.length).toBe(before)
})

it('an event that comes after the machine slept ten hours is tried for four hours, as without a sleep', () => {
  const [rested, slept] = [0, 10].map((shift) => {
    const clock = virtualClock()
    const source$ = new Subject<Either<never, number>>()
    // The timer of the first item is set before the sleep.
    const busy = [retryable('status', { notBefore: clock.now() + HOUR / 2 }), retryable('status')] as const
    const dead = scriptedSink<number>({ clock, reply: (item) => ({ verdict: left(busy[item] ?? busy[1]) }) })
    source$.pipe(deliver(dead, { clock, random: () => 0.5 })).subscribe()
    source$.next(right(0))
    clock.wall(shift * HOUR)
    source$.next(right(1))
    clock.tick(4 * HOUR)
    return dead.calls.flatMap(({ item, startedAt }) => (item === 1 ? startedAt : []))
  })
  expect(slept).toEqual(rested)
  expect(rested?.length).toBeGreaterThan(20)
})
