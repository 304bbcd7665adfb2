import { expect, test } from 'vitest'
import { steady } from '../../src/core/clock.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

test('a reading does not step with the wall clock, and whoever asks later gets the same one', () => {
  const clock = virtualClock({ start: 1_000 })
  const first = steady(clock)
  clock.tick(5)
  clock.wall(3_600_000)
  const second = steady(clock)
  expect([first(), second()]).toEqual([1_005, 1_005])
  expect(steady(virtualClock({ start: 7 }))()).toBe(7)
})
