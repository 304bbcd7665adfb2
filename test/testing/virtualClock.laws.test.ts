import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { commands, playTicks, virtualClockLaws } from '../laws/virtualClock.ts'
import type { MakeClock } from '../laws/virtualClock.ts'
import { clockBugs, clockWith } from '../mutants/virtualClock.ts'
import type { ClockBug } from '../mutants/virtualClock.ts'

const real: MakeClock = (start) => virtualClock({ start })
const model = clockWith(undefined)

describe('a virtual clock', () => {
  it.each(virtualClockLaws(real, model))('keeps $id', async ({ property }) => {
    await fc.assert(property, { numRuns: 1_000 })
  })

  it('is asked in worlds with ties, cancelled timers and timers that make timers', () => {
    const worlds = fc
      .sample(commands, { numRuns: 1_000, seed: 1 })
      .map((all) => ({ all, seen: playTicks(real, all) }))
    const share = (holds: (world: (typeof worlds)[number]) => boolean): number =>
      worlds.filter(holds).length / 1_000
    const ranAtOnce = share(({ seen }) => seen.ran.some(([, at], i) => seen.ran[i + 1]?.[1] === at))
    expect(ranAtOnce).toBeGreaterThan(0.4)
    expect(share(({ seen }) => seen.ran.length > 100)).toBeGreaterThan(0.1)
    const most = (all: (typeof worlds)[number]['all']): number =>
      all.reduce((sum, each) => sum + (each.do === 'crowd' ? each.count : 0), 0)
    // More than the 64 empty shells that may stay in the heap.
    expect(
      share(({ all }) => most(all) > 130 && all.some((each) => each.do === 'cancelMost')),
    ).toBeGreaterThan(0.1)
    expect(share(({ all }) => JSON.stringify(all).includes('"then":[{"do":"schedule"'))).toBeGreaterThan(0.3)
  })

  // The keys of an object are its keys.
  const bugs = (Object.keys(clockBugs) as ClockBug[]).map((bug) => ({ bug, what: clockBugs[bug] }))
  it.each(bugs)('would be caught if it $what', async ({ bug }) => {
    for (const { property } of virtualClockLaws(clockWith(bug), model)) {
      const { failed } = await fc.check(property, { numRuns: 1_000, endOnFailure: true })
      if (failed) return
    }
    expect.unreachable('no law noticed')
  })
})
