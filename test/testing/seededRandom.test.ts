import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { seededRandom } from '../../src/testing/random.ts'

const first = (count: number, seed: number): ReadonlyArray<number> => {
  const random = seededRandom(seed)
  return Array.from({ length: count }, () => random())
}

it('is mulberry32', () => {
  // Worked out by hand in 64-bit integers for the seeds 0 and 42.
  expect(first(3, 0).map((number) => number * 2 ** 32)).toEqual([1144304738, 1416247, 958946056])
  expect(first(1, 42).map((number) => number * 2 ** 32)).toEqual([2581720956])
})

it('gives numbers from 0 to below 1, the same for the same seed', () =>
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const numbers = first(50, seed)
      expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true)
      expect(first(50, seed)).toEqual(numbers)
      expect(first(50, seed + 1)).not.toEqual(numbers)
    }),
  ))

it('spreads evenly', () => {
  const numbers = first(100_000, 7)
  for (let tenth = 0; tenth < 10; tenth++) {
    const count = numbers.filter((number) => Math.floor(number * 10) === tenth).length
    expect(Math.abs(count - 10_000)).toBeLessThan(500)
  }
})
