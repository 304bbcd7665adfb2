import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, test } from 'vitest'
import { withTimeout } from '../../src/sink/timeout.ts'
import { retryable } from '../../src/core/failure.ts'
import { onlyAttempt } from '../../src/sink/sink.ts'
import { scriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

test.each([0, -1, NaN, Infinity])('a timeout of %d is refused', (within) =>
  expect(() => withTimeout(within)).toThrow(/timeout of withTimeout: must be/),
)

describe('a layer around several sinks', () =>
  test('has one timer for all of them', () => {
    const clock = virtualClock()
    const patient = withTimeout(100, { clock })
    const hanging = ['a', 'b', 'c'].map((name) =>
      patient(scriptedSink<number>({ name, clock, reply: () => ({}) })),
    )
    const heard: unknown[] = []
    for (const each of hanging) {
      each.deliver(1, onlyAttempt).subscribe((verdict) => heard.push(verdict))
      clock.tick(10)
    }
    expect(clock.pending()).toBe(1)
    clock.tick(70)
    expect(heard).toHaveLength(1)
    clock.tick(20)
    expect(heard).toHaveLength(3)
    expect(heard[0]).toEqual(left(retryable('timeout', { detail: 'no verdict within 100 ms' })))
    expect(clock.pending()).toBe(0)
  }))

test('a step of the wall clock changes nothing', () => {
  const clock = virtualClock()
  const heard: unknown[] = []
  const slow = scriptedSink<number>({ clock, reply: () => ({ verdict: right({ sink: 'a' }), after: 90 }) })
  withTimeout(100, { clock })(slow)
    .deliver(1, onlyAttempt)
    .subscribe((verdict) => heard.push(verdict))
  clock.wall(3_600_000)
  clock.tick(95)
  expect(heard).toEqual([right({ sink: 'a' })])
})
