import { left } from 'fp-ts/lib/Either.js'
import { expect, test } from 'vitest'
import { onlyAttempt, withRetryAfterGate, type Verdict } from '../../src/index.ts'
import { retryable, show } from '../../src/core/failure.ts'
import { subscribeTo } from '../../src/sink/layer.ts'
import { scriptedSink, virtualClock } from '../../src/testing/index.ts'
import { silent } from '../laws/memoryLayers.ts'

const HOUR = 3_600_000

test('what a gate inside holds back is held with the name of that gate', () => {
  const clock = virtualClock()
  const held = left(retryable('held', { notBefore: clock.now() + 50, gate: 'circuit', detail: 'open' }))
  const inner = scriptedSink<string>({ clock, reply: () => ({ verdict: held }) })
  const told: Verdict[] = []
  const run = subscribeTo(withRetryAfterGate()(inner))
  const hear = { ...silent, next: (each: Verdict) => told.push(each) }
  for (let n = 0; n < 2; n++) run('a', { ...onlyAttempt, clock }, hear)
  expect([inner.calls.length, told[1]]).toEqual([1, held])
})

test('it holds back for an hour at most, all with one verdict', () => {
  const clock = virtualClock()
  const verdict = left(retryable('status', { notBefore: clock.now() + 1e15 }))
  const inner = scriptedSink<string>({ clock, reply: () => ({ verdict }) })
  const run = subscribeTo(withRetryAfterGate()(inner))
  const told: Verdict[] = []
  const hear = { ...silent, next: (each: Verdict) => told.push(each) }
  const ask = (): unknown => run('a', { ...onlyAttempt, clock }, hear)
  ask()
  clock.tick(HOUR - 1)
  ask()
  ask()
  expect(told[1]).toBe(told[2])
  expect(told[1]?._tag === 'Left' && show(told[1].left)).toBe(
    'held, the receiver asked not to be tried before; no request was sent',
  )
  clock.tick(1)
  ask()
  expect(inner.calls).toHaveLength(2)
})
