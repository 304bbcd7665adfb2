import { left } from 'fp-ts/lib/Either.js'
import { expect, test } from 'vitest'
import { onlyAttempt, withRetryAfterGate, type Verdict } from '../../src/index.ts'
import { retryable, show } from '../../src/core/failure.ts'
import { scriptedSink, virtualClock } from '../../src/testing/index.ts'
import { hear } from './deliverOnce.ts'

const HOUR = 3_600_000

test('what a gate inside holds back is held with the name of that gate', () => {
  const clock = virtualClock()
  const held = left(retryable('held', { notBefore: clock.now() + 50, gate: 'circuit', detail: 'open' }))
  const inner = scriptedSink<string>({ clock, reply: () => ({ verdict: held }) })
  const gated = withRetryAfterGate()(inner)
  const [, second] = [1, 2].map(() => hear(gated, 'a', { ...onlyAttempt, clock }).told)
  expect([inner.calls.length, second]).toEqual([1, [held, 'complete']])
})

test('it holds back for an hour at most, all with one verdict', () => {
  const clock = virtualClock()
  const verdict = left(retryable('status', { notBefore: clock.now() + 1e15 }))
  const inner = scriptedSink<string>({ clock, reply: () => ({ verdict }) })
  const gated = withRetryAfterGate()(inner)
  const ask = () => hear(gated, 'a', { ...onlyAttempt, clock }).told[0] as Verdict
  ask()
  clock.tick(HOUR - 1)
  const told = ask()
  expect(ask()).toBe(told)
  expect(told._tag === 'Left' && show(told.left)).toBe(
    'held, the receiver asked not to be tried before; no request was sent',
  )
  clock.tick(1)
  ask()
  expect(inner.calls).toHaveLength(2)
})
