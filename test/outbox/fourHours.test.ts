import { left, right } from 'fp-ts/lib/Either.js'
import { NEVER, concat, of } from 'rxjs'
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
