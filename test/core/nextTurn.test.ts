import { expect, it } from 'vitest'
import { nextTurn } from '../../src/core/clock.ts'

it('runs after the promise jobs of this turn, in order, and not when cancelled', async () => {
  const log: string[] = []
  const done = new Promise<void>((resolve) => {
    nextTurn(() => log.push('first'))
    const cancel = nextTurn(() => log.push('cancelled'))
    nextTurn(() => {
      log.push('second')
      resolve()
    })
    cancel()
    cancel()
  })
  log.push('now')
  void Promise.resolve().then(() => log.push('job'))
  await done
  expect(log).toEqual(['now', 'job', 'first', 'second'])
})
