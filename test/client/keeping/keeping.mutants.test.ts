import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { keepingLaw } from '../../laws/keeping.ts'
import { LAWS } from '../../laws/keepingLaw.ts'
import { keepingMutants } from '../../mutants/keeping.ts'

it.each(Object.entries(keepingMutants))(
  'a keeping that %s is caught by its law',
  async (_, { breaks, make }) => {
    const { failed } = await fc.check(keepingLaw(LAWS[breaks], make), { numRuns: 10_000, endOnFailure: true })
    expect(failed).toBe(true)
  },
)

it('each law by one at least', () => {
  expect(new Set(Object.values(keepingMutants).map(({ breaks }) => breaks))).toEqual(
    new Set(Object.keys(LAWS)),
  )
})
