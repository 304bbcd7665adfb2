import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nothingReached, outboxLaws } from '../../laws/outbox.ts'
import type { Reached } from '../../laws/outbox.ts'
import { forgetfulGround, lmdbGround, memoryGround, readingGround, restlessGround } from './grounds.ts'

/** A world that reaches nothing of what matters would keep every law. */
const reachesAll = (reached: Reached, durable: boolean): void => {
  const { worlds, commands, crashedWhileOut, crashedWithParked, reopenedWithLetters, ...others } = reached
  expect(commands).toBe(worlds * 200)
  const share = (count: number): number => count / worlds
  for (const [name, count] of Object.entries(others)) expect(share(count), name).toBeGreaterThan(0.2)
  if (!durable) return
  for (const count of [crashedWhileOut, crashedWithParked, reopenedWithLetters])
    expect(share(count)).toBeGreaterThan(0.2)
}

describe('an outbox keeps its laws in 1,000 worlds of 200 commands, crash and reopen among them', () => {
  it('in memory', async () => {
    const reached = nothingReached()
    await fc.assert(outboxLaws(memoryGround, reached), { numRuns: 1_000 })
    expect(reached.worlds).toBeGreaterThanOrEqual(1_000)
    reachesAll(reached, false)
  })

  // In four parts, because all of it takes most of a minute.
  it.each([1, 2, 3, 4])('over lmdb, part %i', async () => {
    const reached = nothingReached()
    await fc.assert(
      outboxLaws(() => lmdbGround(), reached),
      { numRuns: 250 },
    )
    expect(reached.worlds).toBeGreaterThanOrEqual(250)
    reachesAll(reached, true)
  })

  it.each([
    ['lets go of its file before every write', restlessGround],
    ['remembers little of what was appended', forgetfulGround],
    ['reads everything back', readingGround],
  ])('over an lmdb that %s, in 100 worlds', async (_what, ground) => {
    await fc.assert(outboxLaws(ground), { numRuns: 100 })
  })
})
