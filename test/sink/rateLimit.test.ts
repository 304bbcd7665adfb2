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
