import { expect, it } from 'vitest'
import { seededRandom } from '../../src/testing/random.ts'

const first = (count: number, seed: number) => Array.from({ length: count }, seededRandom(seed))

it('is mulberry32, the same for the same seed', () => {
  // Worked out by hand in 64-bit integers for the seeds 0 and 42.
  expect(first(3, 0).map((number) => number * 2 ** 32)).toEqual([1144304738, 1416247, 958946056])
  expect(first(1, 42).map((number) => number * 2 ** 32)).toEqual([2581720956])
  expect(first(50, -7)).toEqual(first(50, -7))
})
