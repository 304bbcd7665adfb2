import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SHARED_LAWS, sharedLaws } from '../../laws/sharedOutbox.ts'
import { sharedMutants } from '../../mutants/sharedOutbox.ts'

describe('what breaks a law of a shared store is caught by that law', () => {
  it.each(Object.entries(sharedMutants))('%s', async (_, { breaks, makes }) => {
    const { failed } = await fc.check(sharedLaws(makes, { exact: true, of: [breaks] }), {
      numRuns: 1_000,
      endOnFailure: true,
    })
    expect(failed).toBe(true)
  })

  it('each law by one at least', () => {
    const broken = new Set(Object.values(sharedMutants).map(({ breaks }) => breaks))
    expect(broken).toEqual(new Set(Object.keys(SHARED_LAWS)))
  })
})
