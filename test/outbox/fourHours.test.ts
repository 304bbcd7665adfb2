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

it('an event that comes after the machine slept ten hours is tried for four hours', () => {
  const [rested, slept] = [0, 10].map((shift) => {
    const clock = virtualClock()
    const source$ = new Subject<Either<never, number>>()
    const dead = scriptedSink<number>({ clock, reply: () => ({ verdict: left(retryable('network')) }) })
    source$.pipe(deliver(dead, { clock, random: seededRandom(7) })).subscribe()
    clock.wall(shift * HOUR)
    source$.next(right(1))
    clock.tick(4 * HOUR)
    return dead.calls.length
  })
  expect(slept).toBe(rested)
  expect(rested).toBeGreaterThan(30)
})
