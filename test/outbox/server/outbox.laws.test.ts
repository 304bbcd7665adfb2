import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nothingReached, outboxLaws } from '../../laws/outbox.ts'
import { brokerGround, tableGround } from './grounds.ts'

describe('an outbox over a server keeps the laws of any outbox, in 100 worlds of 200 commands', () => {
  it.each([
    ['a table', tableGround],
    ['a broker, but for when something is due later, which it cannot know', brokerGround],
  ])('over %s', async (_, ground) => {
    const reached = nothingReached()
    await fc.assert(outboxLaws(ground, reached), { numRuns: 100 })
    const { worlds, commands, ...others } = reached
    expect(commands).toBe(worlds * 200)
    for (const [name, count] of Object.entries(others)) expect(count / worlds, name).toBeGreaterThan(0.2)
  })
})
