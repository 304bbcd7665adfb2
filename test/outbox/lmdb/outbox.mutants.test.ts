import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { outboxLaw } from '../../laws/outbox.ts'
import { LAWS } from '../../laws/outboxLaw.ts'
import { outboxMutants } from '../../mutants/outbox.ts'
import { lmdbGround, memoryGround } from './grounds.ts'

const grounds = { memory: memoryGround, lmdb: () => lmdbGround() }

describe('an outbox that breaks a law is caught by that law', () => {
  it.each(Object.entries(outboxMutants))('one that %s', async (_, { breaks, of, change }) => {
    const law = outboxLaw(LAWS[breaks], () => change(grounds[of]()))
    const { failed } = await fc.check(law, { numRuns: 200, endOnFailure: true })
    expect(failed).toBe(true)
  })

  it('each law by one at least', () => {
    expect(new Set(Object.values(outboxMutants).map(({ breaks }) => breaks))).toEqual(
      new Set(Object.keys(LAWS)),
    )
  })
})
