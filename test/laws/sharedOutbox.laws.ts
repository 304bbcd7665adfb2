import { left } from 'fp-ts/lib/Either.js'
import { expect, test } from 'vitest'
import { full } from '../../src/core/refusal.ts'
import { memoryOutbox } from '../../src/outbox/index.ts'
import { registerLaws, reportOf, sharedOutboxLaws } from '../../src/testing/laws/index.ts'
import type { OpenSharedOutbox } from '../../src/testing/laws/index.ts'
import { sharedInMemory } from '../support/brokenVersions.ts'

registerLaws({ test }, sharedOutboxLaws(sharedInMemory()))

test('settle has each second of a world', async () => {
  let passed = 0
  const settle = async (ms: number): Promise<void> => void (passed += ms)
  for (const law of sharedOutboxLaws(sharedInMemory(), { settle }).slice(0, 1))
    expect(await reportOf(law, { runs: 20, seed: 1 })).toMatchObject({ result: 'kept' })
  expect(passed).toBe(20 * 220_000)
})

const refusing = sharedInMemory((outbox) => ({ ...outbox, enqueue: () => [left(full(0, 'count', 0))] }))
test.each<readonly [string, OpenSharedOutbox]>([
  ['refuses each item', refusing],
  ['shares nothing', ({ clock }) => ({ outbox: memoryOutbox({ clock }) })],
])('a store that %s shows nothing', async (_, open) => {
  for (const law of sharedOutboxLaws(open))
    expect(await reportOf(law, { runs: 20 })).toMatchObject({ result: 'vacuous' })
})
