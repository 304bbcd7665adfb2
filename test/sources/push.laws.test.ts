import * as fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { push } from '../../src/sources/push.ts'
import { play, pushLaws } from '../laws/push.ts'
import type { Trace } from '../laws/push.ts'
import { world } from '../laws/pushWorld.ts'
import { pushBugs, pushWith } from '../mutants/push.ts'
import type { PushBug } from '../mutants/push.ts'

const model = pushWith(undefined)

describe('a push source', () => {
  it.each(pushLaws(push, model))('keeps $id', async ({ property }) => {
    await fc.assert(property, { numRuns: 1_000 })
  })

  // The keys of an object are its keys.
  const bugs = (Object.keys(pushBugs) as PushBug[]).map((bug) => {
    const [law, what] = pushBugs[bug]
    return { bug, law, what }
  })
  it.each(bugs)('would be caught by $law if it $what', async ({ bug, law }) => {
    const laws = pushLaws(pushWith(bug), model).filter(({ id }) => id.startsWith(`${law} `))
    const results = await Promise.all(
      laws.map(({ property }) => fc.check(property, { numRuns: 1_000, endOnFailure: true })),
    )
    expect(results.map(({ failed }) => failed)).toEqual([true])
  })
})

describe('the commands', () => {
  let traces: ReadonlyArray<Trace> = []
  beforeAll(async () => {
    traces = await Promise.all(
      fc.sample(world, { numRuns: 1_000, seed: 1 }).map((asked) => play(push, asked)),
    )
  })
  const share = (holds: (trace: Trace) => boolean): number => traces.filter(holds).length / traces.length
  const answered = (start: string) =>
    share(({ seen }) => seen.some((each) => each.at === 'offer' && each.answer.startsWith(start)))

  it.each(['Full count', 'Full bytes', 'TooLarge', 'Closed'])('reach %s', (answer) => {
    expect(answered(answer)).toBeGreaterThan(0.1)
  })

  it.each(['dropNewest', 'dropOldest', 'Abandoned'])('lose items by %s', (why) => {
    expect(share(({ seen }) => seen.some((each) => each.at === 'lost' && each.why === why))).toBeGreaterThan(
      0.05,
    )
  })

  it('let readers and waiters wait, several at once', () => {
    expect(share(({ after }) => after.some(({ unread }) => unread > 1))).toBeGreaterThan(0.2)
    expect(share(({ after }) => after.some(({ notReady }) => notReady > 1))).toBeGreaterThan(0.1)
  })
})
