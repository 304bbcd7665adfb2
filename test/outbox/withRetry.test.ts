import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { ConfigError } from '../../src/core/refusal.ts'
import { retryable, show as showFailure } from '../../src/core/failure.ts'
import type { Verdict } from '../../src/core/failure.ts'
import { withRetry } from '../../src/outbox/withRetry.ts'
import { both, deadline, exponential } from '../../src/policy/retryPolicy.ts'
import { onlyAttempt, type Attempt } from '../../src/sink/sink.ts'
import { scriptedSink, type ScriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock, type VirtualClock } from '../../src/testing/virtualClock.ts'

const yes: Verdict = right({ sink: 's' })
const busy: Verdict = left(retryable('status', { status: 503 }))

const scripted = (clock: VirtualClock, verdicts: ReadonlyArray<Verdict>) =>
  scriptedSink<string>({
    name: 's',
    clock,
    reply: (_, { number }) => ({
      verdict: verdicts[Math.min(number, verdicts.length) - 1] ?? yes,
      after: 10,
    }),
  })
const startsOf = ({ calls }: ScriptedSink<string>) => calls.map(({ startedAt }) => startedAt)

const play = (verdicts: ReadonlyArray<Verdict>, within = 60_000, attempt: Attempt = onlyAttempt) => {
  const clock = virtualClock()
  const sink = scripted(clock, verdicts)
  const layered = withRetry(both(exponential(), deadline(within)), { clock })(sink)
  const seen: string[] = []
  const subscription = layered.deliver('a', attempt).subscribe({
    next: (verdict) => seen.push(verdict._tag === 'Right' ? 'Right' : verdict.left._tag),
    complete: () => seen.push('complete'),
    error: () => seen.push('error'),
  })
  return { clock, sink, seen, subscription }
}

describe('withRetry', () => {
  it('tries until the sink takes it, then emits one verdict and completes', () => {
    const { clock, sink, seen } = play([busy, busy, yes])
    clock.tick(60_000)
    expect(startsOf(sink)).toEqual([0, 1_010, 3_020])
    expect(seen).toEqual(['Right', 'complete'])
    expect(clock.pending()).toBe(0)
  })

  it('expires at its deadline, which an outer retry does not try again', () => {
    const { clock, seen } = play([busy], 5_000)
    clock.tick(60_000)
    expect(seen).toEqual(['Expired', 'complete'])
  })

  it('starts nothing at or after the deadline of the attempt around it, and passes on its last failure', () => {
    const until = virtualClock().now() + 3_000
    const attempt = { number: 2, until, lastFailure: retryable('before') }
    const { clock, sink, seen } = play([busy], 60_000, attempt)
    clock.tick(60_000)
    expect(seen).toEqual(['Expired', 'complete'])
    expect(startsOf(sink).every((at) => at < 3_000)).toBe(true)
    expect(sink.calls[0]?.attempt.lastFailure).toBe(attempt.lastFailure)
  })

  it('when its bound is reached a delivery fails as retryable', () => {
    const clock = virtualClock()
    const sink = scripted(clock, [yes])
    const layered = withRetry(exponential(), { clock, maxCount: 1 })(sink)
    const seen: Verdict[] = []
    layered.deliver('a', onlyAttempt).subscribe((verdict) => seen.push(verdict))
    layered.deliver('b', onlyAttempt).subscribe((verdict) => seen.push(verdict))
    expect(seen).toEqual([left(retryable('full'))])
    clock.tick(10)
    expect(seen).toHaveLength(2)
  })

  it('cancels what still runs of an attempt when the next one starts', () => {
    const clock = virtualClock()
    const draining = scriptedSink<string>({
      clock,
      reply: () => ({ verdict: busy, after: 10, rest: 60_000 }),
    })
    const layered = withRetry(exponential(), { clock })(draining)
    const subscription = layered.deliver('a', onlyAttempt).subscribe()
    clock.tick(1_015)
    expect(draining.running()).toBe(1)
    subscription.unsubscribe()
    expect([draining.running(), clock.pending()]).toEqual([0, 0])
  })

  it('a cancel in a wait ends it at once: no timer, no place taken (pipelines/R12)', () => {
    const clock = virtualClock()
    const sink = scripted(clock, [busy])
    const layered = withRetry(exponential({ base: 600_000 }), { clock, maxCount: 1 })(sink)
    for (let round = 0; round < 3; round++) {
      const seen: Verdict[] = []
      const subscription = layered.deliver('a', onlyAttempt).subscribe((verdict) => seen.push(verdict))
      clock.tick(10)
      expect(seen).toEqual([])
      subscription.unsubscribe()
      expect(clock.pending()).toBe(0)
    }
  })

  it('a close gives back what waits and what runs, and leaves no timer', async () => {
    const clock = virtualClock()
    const sink = scripted(clock, [busy])
    const layered = withRetry(exponential({ base: 600_000 }), { clock })(sink)
    const seen: string[] = []
    const hear = (name: string): void => {
      layered.deliver(name, onlyAttempt).subscribe({
        next: (verdict) =>
          seen.push(`${name} ${verdict._tag === 'Left' ? showFailure(verdict.left) : 'taken'}`),
        complete: () => seen.push(`${name} complete`),
      })
    }
    hear('waits')
    clock.tick(10)
    hear('runs')
    await layered.close({ timeout: 0 })
    hear('late')
    expect(seen).toEqual(
      ['waits', 'runs', 'late'].flatMap((name) => [
        `${name} closed, the sink s was closed`,
        `${name} complete`,
      ]),
    )
    expect([sink.running(), clock.pending()]).toEqual([0, 0])
  })

  it('refuses a bound that is none', () => {
    for (const maxCount of [0, -1, NaN, 1.5, Infinity]) {
      expect(() => withRetry(exponential(), { maxCount })).toThrow(ConfigError)
    }
  })
})
