import { left, right } from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import { expect, expectTypeOf, test } from 'vitest'
import { withRetryAfterGate, type Attempt, type Failure } from '../../src/index.ts'
import { memoryOutbox } from '../../src/outbox/index.ts'
import { standard } from '../../src/policy/index.ts'
import type { Outcome, Sink, Verdict, BatchPayload, Payload } from '../../src/index.ts'
import { onlyAttempt, refused, retryable, withBisection, withConcurrency } from '../../src/index.ts'
import { relay } from '../../src/outbox/relay.ts'
import { one } from '../../src/outbox/take.ts'
import { subscribeTo } from '../../src/sink/layer.ts'
import { scriptedSink, seededRandom, virtualClock, type ScriptedSink } from '../../src/testing/index.ts'
import type { VirtualClock } from '../../src/testing/index.ts'
import { batchOf } from '../support/batches.ts'

type Batch = BatchPayload<number>
const BAD = left(refused('status', { status: 400 }))
const TAKEN: Verdict = right({ sink: 'scripted' })

/** A receiver that answers on the spot and refuses every batch with a bad member in it. */
const picky = (clock: VirtualClock, isBad: (member: number) => boolean): ScriptedSink<Batch> =>
  scriptedSink({ clock, reply: ({ items }) => ({ verdict: items.some(isBad) ? BAD : TAKEN }) })

const deliver = (sink: Sink<Batch>, batch: Batch, attempt: Attempt = onlyAttempt): ReadonlyArray<unknown> => {
  const told: unknown[] = []
  subscribeTo(sink)(batch, attempt, {
    next: (verdict) => told.push(verdict),
    complete: () => told.push('complete'),
    error: () => told.push('error'),
  })
  return told
}

test('a thousand bad ones are each sent alone, without a deep stack', () => {
  const clock = virtualClock()
  const inner = picky(clock, () => true)
  expect(deliver(withBisection()(inner), batchOf(1_000))).toEqual([BAD, 'complete'])
  expect(inner.calls).toHaveLength(1_999)
})

test('what was taken stays taken after attempts that were held back or found no room', async () => {
  const clock = virtualClock()
  const sent: Array<ReadonlyArray<number>> = []
  const inner = scriptedSink<Batch>({
    clock,
    reply: ({ items }) => {
      sent.push(items)
      // The first half is taken, then the receiver sends Retry-After.
      if (sent.length === 1) return { verdict: BAD }
      if (sent.length === 3)
        return { verdict: left(retryable('status', { status: 429, notBefore: clock.now() + 60_000 })) }
      return { verdict: items.includes(3) ? BAD : TAKEN }
    },
  })
  const gate = withRetryAfterGate()
  const sink = pipe(inner, withBisection(), gate, withConcurrency<Batch>({ concurrency: 1, queue: 0 }))
  const outbox = memoryOutbox<Batch>({ maxCount: 10, maxBytes: 1_000_000 })
  const ended: Array<Outcome<Batch>> = []
  const working = relay<Batch>({
    sink,
    outbox,
    retry: standard,
    clock,
    random: seededRandom(1),
    shape: one(10),
    ended: (outcome) => ended.push(outcome),
  })
  // It runs when the gate closes for the first time, and closes it for longer.
  const verdict = left(retryable('status', { notBefore: clock.now() + 600_000 }))
  const other = scriptedSink<Batch>({ clock, reply: () => ({ verdict, after: 40_000 }) })
  deliver(gate(other), batchOf(1), { ...onlyAttempt, clock })
  await working.offer(batchOf(4))
  clock.tick(599_999)
  expect(sent).toHaveLength(3)
  clock.tick(1_000_000)
  expect(sent).toEqual([[0, 1, 2, 3], [0, 1], [2, 3], [2, 3], [2], [3]])
  expect(ended).toMatchObject([
    { _tag: 'Rejected', failure: { members: [TAKEN, TAKEN, TAKEN, BAD] }, attempts: 2 },
  ])
})

test('an empty batch, and a batch without open members, come to an end', () => {
  const clock = virtualClock()
  const inner = picky(clock, () => false)
  expect(deliver(withBisection()(inner), batchOf(0))).toEqual([TAKEN, 'complete'])
  const lastFailure: Failure = { _tag: 'PartlyFailed', members: [TAKEN, BAD] }
  expect(deliver(withBisection()(inner), batchOf(2), { ...onlyAttempt, lastFailure })).toEqual([
    left(lastFailure),
    'complete',
  ])
  expect(inner.calls).toHaveLength(1)
})

test('a sink that takes any payload becomes one for batches', () => {
  const anything = scriptedSink<Payload<unknown>>({
    clock: virtualClock(),
    reply: () => ({ verdict: TAKEN }),
  })
  expectTypeOf(withBisection()<string>(anything)).toEqualTypeOf<Sink<BatchPayload<string>>>()
})
