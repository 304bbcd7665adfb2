/** A redrive in several transactions, at work. */
import { rmSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { lmdbOutbox } from '../../../src/outbox/lmdb/lmdbOutbox.ts'
import { relay } from '../../../src/outbox/relay.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { refused } from '../../../src/core/failure.ts'
import { rejected } from '../../../src/core/outcome.ts'
import { limitRetries } from '../../../src/policy/retryPolicy.ts'
import { memory } from '../../../src/sink/memory.ts'
import { newFolder } from './grounds.ts'
import { codec } from './killedItems.js'

/** Two transactions of a redrive and some. */
const COUNT = 1_200

const opened = async () => {
  const path = newFolder()
  const outbox = lmdbOutbox<string>({ path, codec })
  await Promise.all(
    Array.from({ length: COUNT }, async (_, at) =>
      outbox.bury(`item ${at}`, rejected(`item ${at}`, 0, refused('full'))),
    ),
  )
  let least = 0
  const work = relay<string>({
    sink: memory<string>(),
    outbox,
    retry: limitRetries(0),
    clock: systemClock,
    random: () => 0,
    maxInFlight: 100,
    ended: () => {
      least = Math.min(least, work.totals().waiting)
    },
  })
  onTestFinished(async () => {
    await outbox.close()
    rmSync(path, { recursive: true })
  })
  const atRest = (): Promise<void> =>
    new Promise((resolve) => {
      const check = (): void => {
        if (outbox.stats().waiting > 0 || work.totals().waiting > 0) return
        unwatch()
        resolve()
      }
      const unwatch = work.onChange(check)
      check()
    })
  return { outbox, work, atRest, least: () => least }
}

it('never has more ended than it counts as accepted, though what it put back first is delivered meanwhile', async () => {
  const { work, atRest, least } = await opened()
  const redriven = work.redrive(({ entry }) => {
    // Somebody sends something in the middle of it, so the relay looks.
    if (entry.item === 'item 600') void work.offer('another')
    return true
  })
  expect(await redriven).toBe(COUNT)
  await atRest()
  expect(least()).toBe(0)
  expect(work.totals()).toMatchObject({ accepted: COUNT + 1, delivered: COUNT + 1, waiting: 0 })
})

it('counts and delivers what was put back before the question failed', async () => {
  const { outbox, work, atRest } = await opened()
  const redriven = work.redrive(({ entry }) => {
    if (entry.item === 'item 700') throw new Error('not that one')
    return true
  })
  await expect(redriven).rejects.toThrow('not that one')
  await atRest()
  expect(work.totals()).toMatchObject({ accepted: 500, delivered: 500, waiting: 0 })
  expect(outbox.stats()).toMatchObject({ waiting: 0, dead: 700 })
})
