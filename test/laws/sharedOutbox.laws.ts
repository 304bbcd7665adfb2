/** A store in memory that several relays share keeps the laws of one. */
import { expect, test } from 'vitest'
import { sharedInMemory } from '../support/brokenVersions.ts'
import { registerLaws, reportOf, sharedOutboxLaws } from '../../src/testing/laws/index.ts'

registerLaws({ test }, sharedOutboxLaws(sharedInMemory()))

test('settle has each second of a world', async () => {
  let passed = 0
  const settle = async (ms: number): Promise<void> => void (passed += ms)
  for (const law of sharedOutboxLaws(sharedInMemory(), { settle }).slice(0, 1))
    expect(await reportOf(law, { runs: 1, seed: 1 })).toMatchObject({ result: 'kept' })
  expect(passed).toBe(220_000)
})
