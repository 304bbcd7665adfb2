import { from } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { batch, lift } from '../../src/index.ts'
import { batchLaws, checkLaws, registerLaws } from '../../src/testing/laws/index.ts'
import { all } from '../support/check.ts'

describe('batch', () => registerLaws({ test: it }, batchLaws(batch)))

it('a wrong answer of sizeOf, or one that is too large, costs its item only', async () => {
  // What code without types may answer; null throws.
  const answers: ReadonlyArray<unknown> = [7, -1, 6, 21, 7, null, 20, '5', 1, 0, 0, 0]
  const sizeOf = (at: number): number => {
    if (answers[at] === null) throw new Error('planted')
    return answers[at] as number
  }
  const ended$ = from(answers.keys()).pipe(lift(), batch({ sizeOf, maxCount: 3, maxBytes: 20 }))
  expect(await all(ended$)).toMatchObject([
    { left: { _tag: 'Invalid', input: 1 } },
    { left: { _tag: 'TooLarge', input: 3, size: 21, limit: 20 } },
    { right: { items: [0, 2, 4], closedBy: 'count' } },
    { left: { _tag: 'Threw', input: 5 } },
    { right: { items: [6], closedBy: 'bytes' } },
    { left: { _tag: 'Invalid', input: 7 } },
    { right: { items: [8, 9, 10], closedBy: 'count' } },
    { right: { items: [11], closedBy: 'end' } },
  ])
})

it('a law of keys keeps still when two batches close at one moment', async () => {
  const commands = [
    { do: 'offer', size: 0, key: 0 },
    { do: 'within', commands: [1, 0].map((key) => ({ do: 'offer', size: 0, key })) },
    { do: 'advance', ms: 4 },
    { do: 'complete' },
  ]
  const bounds = { maxCount: null, maxBytes: 10, maxDelay: 2, delayFrom: 'lastFlush', keys: 3, maxKeys: 2 }
  await checkLaws(batchLaws(batch), { only: 'batch/closes-for-its-cause', example: { ...bounds, commands } })
})
