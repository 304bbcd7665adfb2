import { expect, it } from 'vitest'
import { earliestRetry } from '../../src/core/failure.ts'
import { memory } from '../../src/sink/memory.ts'
import { onlyAttempt, withRateLimit } from '../../src/index.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

it('spreads the moments that it gives out by the rate', () => {
  const clock = virtualClock({ start: 0 })
  const limited = withRateLimit({ perSecond: 2, burst: 1 })(memory<number>())
  const moments: unknown[] = []
  for (const n of [1, 2, 3, 4])
    limited.deliver(n, { ...onlyAttempt, clock }).subscribe((verdict) => {
      moments.push(verdict._tag === 'Left' ? earliestRetry(verdict.left) : 'delivered')
    })
  expect(moments).toEqual(['delivered', 500, 1_000, 1_500])
})

it('counts moments that were given and never used no longer than until its bucket is full', () => {
  const clock = virtualClock({ start: 0 })
  const limited = withRateLimit({ perSecond: 1 })(memory<number>())
  const moments: unknown[] = []
  const deliver = (n: number) =>
    limited.deliver(n, { ...onlyAttempt, clock }).subscribe((verdict) => {
      moments.push(verdict._tag === 'Left' ? earliestRetry(verdict.left) : 'delivered')
    })
  for (let n = 0; n < 10; n++) deliver(n)
  clock.tick(5_000)
  deliver(10)
  deliver(11)
  expect(moments.slice(9)).toEqual([9_000, 'delivered', 6_000])
})
