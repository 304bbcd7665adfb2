import { describe, expect, test } from 'vitest'
import { withBisection } from '../../src/sink/bisect.ts'
import { bisectingLaws, verdictIn } from '../laws/bisecting.ts'
import type { MakeBisecting, Trace } from '../laws/bisectingWorld.ts'
import { bisectingMutants, plainBisecting } from '../mutants/bisecting.ts'

const real: MakeBisecting = (only, clock) => withBisection({ only, clock })

describe('bisecting:', () => {
  const reached = {
    traces: 0,
    divided: 0,
    allTaken: 0,
    someTaken: 0,
    late: 0,
    lateAfterARequest: 0,
    defects: 0,
    cancelled: 0,
    resumed: 0,
    culpritAlone: 0,
  }
  const count = ({ attempts }: Trace): void => {
    reached.traces++
    for (const [at, played] of attempts.entries()) {
      const verdict = verdictIn(played)
      const failure = verdict?._tag === 'Left' ? verdict.left : undefined
      const text = JSON.stringify(failure ?? null)
      if (played.calls.length > 1) reached.divided++
      if (verdict?._tag === 'Right') reached.allTaken++
      if (failure?._tag === 'PartlyFailed' && text.includes('Right')) reached.someTaken++
      if (text.includes('"late"')) reached.late++
      if (text.includes('"halved"')) reached.lateAfterARequest++
      if (played.heard.at(-1)?.what === 'error') reached.defects++
      if (played.cancelled) reached.cancelled++
      if (at > 0 && played.calls.length > 0 && played.attempt.lastFailure?._tag === 'PartlyFailed')
        reached.resumed++
      if (played.calls.some(({ item }) => item.items.length === 1)) reached.culpritAlone++
    }
  }

  for (const { id, check } of bisectingLaws(real, count)) test(id, check)

  test('the worlds reached the limits', () => {
    for (const [what, times] of Object.entries(reached)) expect(times, what).toBeGreaterThan(300)
  })
})

describe('the laws', () => {
  test('hold for a second, plain implementation', () => {
    for (const { id, fails } of bisectingLaws(plainBisecting)) expect(fails(), id).toBe(false)
  })

  test.each(bisectingMutants)('kill one that $name', ({ make }) => {
    expect(bisectingLaws(make).find(({ fails }) => fails())?.id).toBeDefined()
  })
})
