import { expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import * as Outcome from '../../../src/core/outcome.ts'
import { refused } from '../../../src/core/failure.ts'
import { storedGround } from './grounds.ts'

it('what is read of the dead letters wears the file too: a look through all of them lets go of it', async () => {
  const records: number[] = []
  const ground = storedGround({
    isWorn: (count) => {
      records.push(count)
      return count > 0
    },
  })
  const outbox = ground.open({ maxCount: 100, maxBytes: 10_000, keepDead: 100 }, systemClock)
  for (let n = 0; n < 10; n++) {
    const item = { n, size: 1, text: 'x' }
    await outbox.bury?.(item, Outcome.rejected(item, 0, refused('full')))
  }
  records.length = 0
  const numbers: number[] = []
  for (const after of ['0', '4', '8']) {
    const page = await outbox.dead.list({ after, limit: 4 })
    numbers.push(...page.map(({ entry }) => entry.item.n))
  }
  expect(numbers).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  expect(await outbox.dead.purge(() => false)).toBe(0)
  expect(records.reduce((sum, count) => sum + count)).toBeGreaterThanOrEqual(20)
  expect(records.filter((count) => count >= 2).length).toBeGreaterThan(1)
  await ground.leave()
})
