import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NIGHTLY, multiplyRuns } from './multiplyRuns.ts'

test('every count of runs is multiplied, and nothing else', () => {
  const text = 'fc.assert(law, { numRuns: 1_000, seed: 1_000 })\nconst RUNS = { numRuns:300 }\nnumRuns: many'
  expect(multiplyRuns(text, 10)).toBe(
    'fc.assert(law, { numRuns: 10000, seed: 1_000 })\nconst RUNS = { numRuns:3000 }\nnumRuns: many',
  )
})

test('under LAWS=nightly, and only there, a law of this file runs so many times', () => {
  const nightly = process.env['LAWS'] === 'nightly'
  const { numRuns } = fc.check(fc.property(fc.integer(), Number.isSafeInteger), { numRuns: 7 })
  expect(numRuns).toBe(nightly ? 7 * NIGHTLY : 7)
})
