import { expect, it } from 'vitest'
import { earliestRetry } from '../../src/core/failure.ts'
import { memory } from '../../src/sink/memory.ts'
import { onlyAttempt, toAll, withRateLimit, type RateLimitOptions } from '../../src/index.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

const asking = (options: RateLimitOptions) => {
  const clock = virtualClock({ start: 7 })
  const limited = withRateLimit(options)(memory<number>())
  const moments: unknown[] = []
  const deliver = (n: number) =>
    limited.deliver(n, { ...onlyAttempt, clock }).subscribe((verdict) => {
      moments.push(verdict._tag === 'Left' ? Number(earliestRetry(verdict.left)) - 7 : 'delivered')
    })
  return { clock, moments, deliver }
}

it('spreads the moments that it gives out by the rate', () => {
  const { clock, moments, deliver } = asking({ perSecond: 3, burst: 2 })
  for (const n of [1, 2, 3, 4]) deliver(n)
  clock.tick(400)
  for (const n of [3, 5]) deliver(n)
  expect(moments).toEqual(['delivered', 'delivered', 334, 667, 'delivered', 1_000])
})

it('counts moments that were given and never used no longer than until its bucket is full', () => {
  const { clock, moments, deliver } = asking({ perSecond: 1 })
  for (let n = 0; n < 10; n++) deliver(n)
  clock.tick(1_000)
  for (const n of [10, 11]) deliver(n)
  expect(moments.slice(9)).toEqual([9_000, 'delivered', 2_000])
})

it('gives out no moment that is more than ten minutes away', () => {
  const { moments, deliver } = asking({ perSecond: 2, burst: 1 })
  for (let n = 0; n < 1_300; n++) deliver(n)
  expect([moments[1_199], ...moments.slice(-2)]).toEqual([599_500, 600_000, 600_000])
})

it('may be around siblings, and not twice on one way', () => {
  const limited = withRateLimit({ perSecond: 1 })
  const both = toAll(['a', 'b'].map((name) => limited(memory<number>({ name }))))
  expect(() => limited(both)).toThrow('the sink a & b has this very gate already')
})
