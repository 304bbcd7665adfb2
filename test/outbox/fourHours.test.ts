import { left, right } from 'fp-ts/lib/Either.js'
import { NEVER, concat, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { deliver, retryable } from '../../src/index.ts'
import { scriptedSink, seededRandom, virtualClock } from '../../src/testing/index.ts'

const HOUR = 3_600_000

describe('four hours of a dead receiver', () => {
  /** One item that is tried for an hour, and how it ended. */
  const tried = () => {
    const clock = virtualClock()
    const ended: string[] = []
    const dead = scriptedSink<number>({ clock, reply: () => ({ verdict: left(retryable('network')) }) })
    concat(of(right(1)), NEVER)
      .pipe(deliver(dead, { clock, random: seededRandom(7) }))
      .subscribe((outcome) => ended.push(outcome._tag))
    clock.tick(HOUR)
    return { clock, ended, dead }
  }

  it('a machine that slept makes no attempt when four hours are over by its wall clock', () => {
    const { clock, ended, dead } = tried()
    const before = dead.calls.length
    // Asleep: the monotonic clock stood still.
    clock.wall(10 * HOUR)
    clock.tick(HOUR)
    expect([ended, dead.calls.length - before]).toEqual([['Expired'], 0])
  })

  it('a machine whose clock is set back five hours keeps its deadlines', () => {
    const { clock, ended } = tried()
    clock.wall(-5 * HOUR)
    clock.tick(3 * HOUR)
    expect(ended).toEqual(['Expired'])
  })
})
