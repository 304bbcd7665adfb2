import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { refused, retryable } from '../../src/outcome/Failure.ts'
import type { Verdict } from '../../src/outcome/Verdict.ts'
import { retrying } from '../../src/outbox/retrying.ts'
import { both, deadline, exponential } from '../../src/policy/RetryPolicy.ts'
import { fromRun } from '../../src/sink/Run.ts'
import { onlyAttempt } from '../../src/sink/Sink.ts'
import type { Sink } from '../../src/sink/Sink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

const nothing = () => () => Promise.resolve()
const yes: Verdict = right({ sink: 's' })
const busy: Verdict = left(retryable('status', { status: 503 }))

const scripted = (clock: ReturnType<typeof virtualClock>, verdicts: ReadonlyArray<Verdict>) => {
  const starts: number[] = []
  let running = 0
  const sink: Sink<string> = fromRun<string>(
    's',
    (_, attempt, receiver) => {
      starts.push(clock.monotonic())
      running++
      const cancel = clock.schedule(10, () => {
        running--
        receiver.next(verdicts[Math.min(attempt.number, verdicts.length) - 1] ?? yes)
        receiver.complete()
      })
      return () => {
        cancel()
        running--
      }
    },
    nothing,
  )
  return { sink, starts, running: () => running }
}

const play = (verdicts: ReadonlyArray<Verdict>, within = 60_000) => {
  const clock = virtualClock()
  const { sink, starts, running } = scripted(clock, verdicts)
  const layered = retrying(both(exponential(), deadline(within)), { clock })(sink)
  const seen: string[] = []
  const subscription = layered.deliver('a', onlyAttempt).subscribe({
    next: (verdict) => seen.push(verdict._tag === 'Right' ? 'Right' : verdict.left._tag),
    complete: () => seen.push('complete'),
    error: () => seen.push('error'),
  })
  return { clock, starts, running, seen, subscription, layered }
}

describe('retrying', () => {
  it('tries until the sink takes it, then emits one verdict and completes', () => {
    const { clock, starts, seen } = play([busy, busy, yes])
    clock.tick(60_000)
    expect(starts).toEqual([0, 1_010, 3_020])
    expect(seen).toEqual(['Right', 'complete'])
    expect(clock.pending()).toBe(0)
  })

  it('passes a final refusal on at once', () => {
    const { clock, starts, seen } = play([left(refused('status', { status: 410 }))])
    clock.tick(60_000)
    expect(starts).toEqual([0])
    expect(seen).toEqual(['Refused', 'complete'])
  })

  it('expires at its deadline, which an outer retry does not try again', () => {
    const { clock, seen } = play([busy], 5_000)
    clock.tick(60_000)
    expect(seen).toEqual(['Expired', 'complete'])
  })

  it('cancels the round under way, and starts no other', () => {
    const { clock, starts, running, seen, subscription } = play([busy])
    clock.tick(1_015)
    expect(running()).toBe(1)
    subscription.unsubscribe()
    expect(running()).toBe(0)
    clock.tick(60_000)
    expect(starts).toHaveLength(2)
    expect(seen).toEqual([])
    expect(clock.pending()).toBe(0)
  })

  it('cancels while it waits', () => {
    const { clock, starts, seen, subscription } = play([busy])
    clock.tick(500)
    subscription.unsubscribe()
    clock.tick(60_000)
    expect(starts).toHaveLength(1)
    expect(seen).toEqual([])
  })

  it('starts nothing at or after the deadline of the attempt around it', () => {
    const clock = virtualClock()
    const { sink, starts } = scripted(clock, [busy])
    const seen: string[] = []
    retrying(exponential(), { clock })(sink)
      .deliver('a', { number: 1, until: clock.now() + 3_000, prior: undefined })
      .subscribe((verdict) => seen.push(verdict._tag === 'Left' ? verdict.left._tag : 'Right'))
    clock.tick(60_000)
    expect(starts.every((at) => at < 3_000)).toBe(true)
    expect(seen).toEqual(['Expired'])
  })

  it('when its bound is reached a delivery fails as retryable', () => {
    const clock = virtualClock()
    const { sink } = scripted(clock, [yes])
    const layered = retrying(exponential(), { clock, maxCount: 1 })(sink)
    const seen: Verdict[] = []
    layered.deliver('a', onlyAttempt).subscribe((verdict) => seen.push(verdict))
    layered.deliver('b', onlyAttempt).subscribe((verdict) => seen.push(verdict))
    expect(seen).toEqual([left(retryable('full'))])
    clock.tick(10)
    expect(seen).toHaveLength(2)
  })
})
