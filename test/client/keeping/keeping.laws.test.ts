import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { keepingLaws } from '../../laws/keeping.ts'
import { nothingReached } from '../../laws/keepingReached.ts'

it('messages on a disk keep their laws in 1,000 worlds of 32 commands, crash and a disk that fails among them', async () => {
  const reached = nothingReached()
  await fc.assert(keepingLaws(undefined, reached), { numRuns: 1_000 })
  const { worlds, ...others } = reached
  expect(worlds).toBeGreaterThanOrEqual(1_000)
  for (const [name, count] of Object.entries(others)) expect(count / worlds, name).toBeGreaterThan(0.001)
})
