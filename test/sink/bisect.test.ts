import { left, right } from 'fp-ts/lib/Either.js'
import { expect, expectTypeOf, test } from 'vitest'
import { onlyAttempt, partlyFailed, refused, retryable, withBisection } from '../../src/index.ts'
import type { BatchPayload, Failure, Payload, Sink, Verdict } from '../../src/index.ts'
import { scriptedSink, virtualClock, type ScriptedSink, type VirtualClock } from '../../src/testing/index.ts'
import { batchOf } from '../support/batches.ts'
import { hear } from './deliverOnce.ts'

type Batch = BatchPayload<number>
const BAD = left(refused('status', { status: 400 }))
const TAKEN: Verdict = right({ sink: 'scripted' })

const picky = (clock: VirtualClock, isBad: (member: number) => boolean): ScriptedSink<Batch> =>
  scriptedSink({ clock, reply: ({ items }) => ({ verdict: items.some(isBad) ? BAD : TAKEN }) })

test('a thousand bad ones are each sent alone, without a deep stack', () => {
  const inner = picky(virtualClock(), () => true)
  expect(hear(withBisection()(inner), batchOf(1_000)).told).toEqual([BAD, 'complete'])
  expect(inner.calls).toHaveLength(1_999)
})

test.each([400, 413, 422])('%d divides a batch', (status) => {
  const reply = () => ({ verdict: left(refused('status', { status })) })
  const inner = scriptedSink<Batch>({ clock: virtualClock(), reply })
  hear(withBisection()(inner), batchOf(2))
  expect(inner.calls).toHaveLength(3)
})

test('an empty batch, and a batch without open members, come to an end', () => {
  const clock = virtualClock()
  const inner = picky(clock, () => false)
  expect(hear(withBisection()(inner), batchOf(0)).told).toEqual([TAKEN, 'complete'])
  const lastFailure: Failure = { _tag: 'PartlyFailed', members: [TAKEN, BAD] }
  const { told } = hear(withBisection()(inner), batchOf(2), { ...onlyAttempt, lastFailure })
  expect(told).toEqual([left(lastFailure), 'complete'])
  expect(inner.calls).toHaveLength(1)
})

test('a member that was refused with its batch, and is held back in its part, was sent', () => {
  const parts: Verdict[] = [BAD, left(partlyFailed([TAKEN, left(retryable('held'))])), TAKEN]
  const reply = () => ({ verdict: parts.shift() ?? TAKEN })
  const { told } = hear(withBisection()(scriptedSink({ clock: virtualClock(), reply })), batchOf(4))
  expect(told[0]).toMatchObject({ left: { members: [TAKEN, left({ reason: 'halved' }), {}, {}] } })
})

test('a sink that takes any payload becomes one for batches', () => {
  const reply = () => ({ verdict: TAKEN })
  const anything = scriptedSink<Payload<unknown>>({ clock: virtualClock(), reply })
  expectTypeOf(withBisection()<string>(anything)).toEqualTypeOf<Sink<BatchPayload<string>>>()
})
