import { left, right } from 'fp-ts/lib/Either.js'
import { NEVER, concat, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { deliver, firstSuccess, retryable, withTimeout } from '../../src/index.ts'
import { memoryOutbox } from '../../src/outbox/index.ts'
import { standard } from '../../src/policy/index.ts'
import { relay } from '../../src/outbox/relay.ts'
import { one } from '../../src/outbox/take.ts'
import { scriptedSink, seededRandom, virtualClock } from '../../src/testing/index.ts'
import { sized } from '../support/runs.ts'

const HOUR = 3_600_000
const MESSAGES = sized({ short: 1_000, full: 10_000, long: 10_000 })
const busy = left(retryable('status', { status: 503 }))

describe('four hours of a dead receiver', () => {
  it('the totals add up at every minute, and each message expires in its time', async () => {
    const clock = virtualClock()
    let requests = 0
    let late = 0
    const dead = scriptedSink<number>({
      clock,
      reply: (_, { until }) => {
        requests++
        if (clock.now() >= until) late++
        return { verdict: busy, after: 30 }
      },
    })
    const ended: Array<{ readonly _tag: string; readonly attempts: number }> = []
    const outbox = memoryOutbox<number>()
    const work = relay<number>({
      sink: firstSuccess([withTimeout({ timeout: 5_000 })(dead)]),
      outbox,
      retry: standard,
      clock,
      random: seededRandom(7),
      shape: one(1_000),
      ended: (outcome) => ended.push(outcome),
    })
    for (let n = 0; n < MESSAGES; n++) void work.offer(n)
    await Promise.resolve()
    for (let minute = 0; minute < 4 * 60 + 2; minute++) {
      clock.tick(60_000)
      const totals = work.totals()
      const sum = totals.delivered + totals.rejected + totals.expired + totals.dropped + totals.abandoned
      expect(sum + totals.waiting).toBe(totals.accepted)
      expect(totals.waiting).toBe(outbox.stats().waiting)
      expect(totals.expired).toBe(ended.length)
    }
    expect(work.totals()).toMatchObject({ accepted: MESSAGES, expired: MESSAGES, waiting: 0 })
    expect(late).toBe(0)
    expect(requests / MESSAGES).toBeGreaterThan(30)
    expect(requests / MESSAGES).toBeLessThan(90)
    expect(clock.pending()).toBe(0)
  })

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
