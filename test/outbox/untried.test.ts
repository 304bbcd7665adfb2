import { right } from 'fp-ts/lib/Either.js'
import { from } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { firstSuccess } from '../../src/sink/firstSuccess.ts'
import { withConcurrency } from '../../src/sink/concurrency.ts'
import type { LogEvent } from '../../src/log/logEvent.ts'
import { deliver } from '../../src/operators/deliver.ts'
import type { Outcome } from '../../src/core/outcome.ts'
import type { Refusal } from '../../src/core/refusal.ts'
import { both, deadline, exponential } from '../../src/policy/retryPolicy.ts'
import { scriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

describe('what waits in a lane for its first attempt (DE4)', () => {
  it('does not expire, and has its whole window from when it is really started', () => {
    const clock = virtualClock()
    const slow = scriptedSink<string>({
      clock,
      reply: () => ({ verdict: right({ sink: 'scripted' }), after: 10_000 }),
    })
    const told: LogEvent[] = []
    const ended: Array<Outcome<string> | Refusal> = []
    from(['a', 'b', 'c', 'd', 'e', 'f'].map((item) => right(item)))
      .pipe(
        deliver(firstSuccess([withConcurrency({ concurrency: 1, clock })(slow)], { clock }), {
          clock,
          random: () => 0,
          retry: both(exponential(), deadline(25_000)),
          onEvent: (happening) => told.push(happening),
        }),
      )
      .subscribe((outcome) => ended.push(outcome))
    clock.tick(200_000)
    expect(ended.map(({ _tag }) => _tag)).toEqual(Array.from({ length: 6 }, () => 'Delivered'))
    expect(ended.every((outcome) => 'attempts' in outcome && outcome.attempts === 1)).toBe(true)
    expect(
      slow.calls.every(({ attempt }) => attempt.number === 1 && attempt.until > clock.now() - 200_000),
    ).toBe(true)
    expect(told.some((happening) => happening._tag === 'Waiting' && happening.attempts === 0)).toBe(true)
    expect(clock.pending()).toBe(0)
  })
})
