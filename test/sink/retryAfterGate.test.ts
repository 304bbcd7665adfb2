import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, test } from 'vitest'
import { withRetryAfterGate } from '../../src/sink/retryAfterGate.ts'
import { retryable, show } from '../../src/core/failure.ts'
import type { Verdict } from '../../src/core/failure.ts'
import { subscribeTo } from '../../src/sink/layer.ts'
import { onlyAttempt } from '../../src/sink/sink.ts'
import { scriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

const HOUR = 3_600_000

describe('a wrong `maxHold` is refused', () =>
  test.each([-1, NaN, Infinity])('%d', (maxHold) =>
    expect(() => withRetryAfterGate({ maxHold })).toThrow(/withRetryAfterGate: maxHold must be/),
  ))

test('one Retry-After holds back the others until its moment, and for an hour at most', () => {
  const clock = virtualClock()
  const wishes = [clock.now() + 2_000, clock.now() + 1e15]
  const inner = scriptedSink<string>({
    clock,
    reply: (item, _attempt, index) => {
      const notBefore = wishes[index]
      return {
        verdict: notBefore === undefined ? right({ sink: item }) : left(retryable('status', { notBefore })),
      }
    },
  })
  const held: Verdict[] = []
  const run = subscribeTo(withRetryAfterGate({ clock })(inner))
  const ask = (): void => {
    run('a', onlyAttempt, { next: (verdict) => held.push(verdict), complete: () => {}, error: () => {} })
  }
  ask()
  clock.tick(1_999)
  ask()
  ask()
  expect(inner.calls).toHaveLength(1)
  // One failure for all.
  expect(held[1]).toBe(held[2])
  expect(held[1]?._tag === 'Left' && show(held[1].left)).toBe(
    'held, the receiver asked not to be tried before; no request was sent',
  )
  clock.tick(1)
  ask()
  expect(inner.calls).toHaveLength(2)
  clock.tick(HOUR - 1)
  ask()
  expect(inner.calls).toHaveLength(2)
  clock.tick(1)
  ask()
  expect(inner.calls).toHaveLength(3)
})
