import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { expired, type Failure, refused, retryable, partlyFailed } from '../../src/core/failure.ts'
import { always, deadline, exponential, both } from '../../src/policy/retryPolicy.ts'
import type { RetryPolicy } from '../../src/policy/retryPolicy.ts'
import { step, type Step } from '../../src/policy/step.ts'

const NOW = 1_000_000
const taken = right({ sink: 'a' })
const no = left(refused('status', { status: 400 }))
const busy = left(retryable('status', { status: 503 }))

const after = (policy: RetryPolicy, failure: Failure, last?: Failure): Step =>
  step(
    policy,
    last === undefined ? undefined : { attempts: 1, lastFailure: last },
    NOW,
    left(failure),
    NOW,
    () => 0,
  )

describe('a step with a batch', () => {
  it('waits as long as a member may be tried again, and rejects when none may', () => {
    expect(after(always, partlyFailed([taken, busy]))._tag).toBe('Wait')
    expect(after(always, partlyFailed([taken, no]))._tag).toBe('Reject')
  })

  it('forgets nothing that was settled when a later attempt did not get there', () => {
    const last = partlyFailed([taken, no, busy])
    const held = retryable('held', { notBefore: NOW + 500 })
    expect(after(always, held, last)).toMatchObject({
      _tag: 'Wait',
      progress: { last: partlyFailed([taken, no, left(held)]) },
    })
    const policy = both(exponential(), deadline(1))
    const end = partlyFailed([taken, no, left(retryable('timeout'))])
    expect(after(policy, retryable('timeout'), last)).toEqual({
      _tag: 'Expire',
      attempts: 2,
      failure: expired(2, NOW, end),
    })
    const unknownKey = refused('status', { status: 401 })
    expect(after(always, unknownKey, last)).toMatchObject({
      _tag: 'Reject',
      failure: partlyFailed([taken, no, left(unknownKey)]),
    })
  })

  it('waits before a gate, also without a policy that minds the wish: it would only be held back again', () => {
    const held = retryable('held', { notBefore: NOW + 500 })
    const wish = retryable('status', { notBefore: NOW + 500 })
    expect(after(always, held)).toMatchObject({ due: NOW + 500 })
    expect(after(always, partlyFailed([taken, left(held)]))).toMatchObject({ due: NOW + 500 })
    expect(after(always, partlyFailed([left(wish), left(held)]))).toMatchObject({ due: NOW + 1 })
    expect(after(always, wish)).toMatchObject({ due: NOW + 1 })
  })
})
