import { left, right } from 'fp-ts/lib/Either.js'
import { of } from 'rxjs'
import { describe, expect, test } from 'vitest'
import { onlyAttempt, withObserver, type Attempt, withRetryAfterGate, type Verdict } from '../../src/index.ts'
import { deliver, lift, retryable, withCircuitBreaker, withRateLimit } from '../../src/index.ts'
import { both, exponential, respectRetryAfter } from '../../src/policy/index.ts'
import type { LogEvent } from '../../src/log/index.ts'
import { scriptedSink, virtualClock, type Reply } from '../../src/testing/index.ts'

const START = 5_000
const taken: Verdict = right({ sink: 'inner' })

const observed = (reply: Reply, attempt: Attempt = onlyAttempt): ReadonlyArray<LogEvent> => {
  const clock = virtualClock({ start: START })
  const events: LogEvent[] = []
  const inner = scriptedSink<string>({ name: 'inner', clock, reply: () => reply })
  withObserver({ onEvent: (each) => events.push(each) })(inner)
    .deliver('item', { ...attempt, clock })
    .subscribe({ error: () => {} })
  clock.tick(1_000)
  return events
}

describe('reports', () => {
  test('an attempt with its time from the start to the verdict, not to the end', () =>
    expect(observed({ verdict: taken, after: 30, rest: 40 }, { ...onlyAttempt, number: 3 })).toEqual([
      {
        ...{ _tag: 'Attempted', at: START + 30, from: 'sink', item: 'item', sink: 'inner', number: 3 },
        ...{ startedAt: START, duration: 30, result: taken },
      },
    ]))
  test('a defect', () => {
    const error = new Error('planted')
    expect(observed({ defect: error, after: 5 })).toEqual([
      { _tag: 'Defect', at: START + 5, from: 'sink', where: 'inner', error },
    ])
  })
})

test('a listener that throws changes nothing, and is given the error once', () => {
  const clock = virtualClock()
  const told: unknown[] = []
  const onEvent = ({ _tag }: LogEvent): never => {
    told.push(_tag)
    throw new Error('careless')
  }
  withObserver({ onEvent })(scriptedSink<string>({ clock, reply: () => ({ verdict: taken }) }))
    .deliver('item', { ...onlyAttempt, clock })
    .subscribe((verdict) => told.push(verdict))
  expect(told).toEqual(['Attempted', 'Defect', taken])
})

test.each([
  ['rate', withRateLimit({ perSecond: 1 })],
  ['circuit', withCircuitBreaker({ failures: 1 })],
  ['Retry-After', withRetryAfterGate()],
] as const)('a gate says that it holds an item back: %s', (because, gate) => {
  const clock = virtualClock()
  const told: LogEvent[] = []
  const failed = left(retryable('status', { notBefore: clock.now() + 400 }))
  const reply = (item: string): Reply => ({ verdict: because === 'rate' || item !== 'a' ? taken : failed })
  const held = gate(scriptedSink<string>({ name: 'crm', clock, reply }))
  const retry = both(exponential({ base: 1 }), respectRetryAfter)
  of('a', 'b')
    .pipe(lift(), deliver(held, { clock, name: 'mine', onEvent: (event) => told.push(event), retry }))
    .subscribe()
  const gated = told.filter(({ _tag }) => _tag === 'Held')
  expect(gated).toMatchObject([{ from: 'mine', item: 'b', sink: 'crm', number: 1, because }])
  expect(told.findLast(({ _tag }) => _tag === 'Waiting')).toMatchObject({ item: 'b', because })
})
