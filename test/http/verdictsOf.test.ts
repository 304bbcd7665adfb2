import { expect, test } from 'vitest'
import { retryable } from '../../src/core/failure.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { statusTable, verdictOf } from '../../src/sink/status.ts'
import { verdictsOf } from '../../src/http/lane.ts'

const NOON = 1_700_000_000_000
const make = () => verdictsOf('a', statusTable, virtualClock({ start: NOON }))
const answer = (status: number, retryAfter?: string) => ({ status, retryAfter })

test('every status has the verdict of the table, and the same one each time', () => {
  const { ofAnswer } = make()
  for (let status = 200; status < 600; status++) {
    const verdict = ofAnswer(answer(status))
    expect(verdict).toEqual(verdictOf(statusTable, 'a', answer(status), NOON, NOON))
    expect(ofAnswer(answer(status))).toBe(verdict)
  }
})

test('an answer with Retry-After has a verdict of its own, and changes none of the others', () => {
  const { ofAnswer } = make()
  const plain = ofAnswer(answer(503))
  const asked = ofAnswer(answer(503, '7'))
  expect(asked).toEqual({ _tag: 'Left', left: retryable('status', { status: 503, notBefore: NOON + 7_000 }) })
  expect(ofAnswer(answer(503))).toBe(plain)
  expect(ofAnswer(answer(503, '8'))).not.toEqual(asked)
})

test('a failure that says the same as the last one is the last one', () => {
  const { ofFailure } = make()
  const first = retryable('network', { detail: 'reset' })
  expect(ofFailure(first)).toBe(first)
  expect(ofFailure(retryable('network', { detail: 'reset' }))).toBe(first)
})

test('a failure that says anything else is itself', () => {
  const { ofFailure } = make()
  const all = [
    retryable('network', { detail: 'reset' }),
    retryable('network', { detail: 'refused' }),
    retryable('timeout', { detail: 'refused' }),
    retryable('timeout'),
    { _tag: 'Refused', reason: 'timeout' } as const,
  ]
  for (const each of all) expect(ofFailure(each)).toBe(each)
})
