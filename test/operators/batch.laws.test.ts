import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ClosedBy } from '../../src/event/payload.ts'
import { batch } from '../../src/operators/batch.ts'
import { batchLaws } from '../laws/batch.ts'
import { batchesOf, play, refusalsOf } from '../laws/batchPlay.ts'
import type { Trace } from '../laws/batchPlay.ts'
import { world } from '../laws/batchWorld.ts'
import type { World } from '../laws/batchWorld.ts'
import { batchWith, bugs } from '../mutants/batch.ts'
import type { Bug } from '../mutants/batch.ts'

describe('batch', () => {
  it.each(batchLaws(batch))('keeps $id', ({ check }) => {
    check()
  })

  it('is not told apart from its second writing, from which the mutants are made', () => {
    for (const { check } of batchLaws(batchWith(undefined))) check()
  })

  // The keys of an object are its keys.
  const mutants = (Object.keys(bugs) as Bug[]).map((bug) => ({ bug, law: bugs[bug][0], what: bugs[bug][1] }))
  it.each(mutants)('would be caught by $law if it $what', ({ bug, law }) => {
    const laws = batchLaws(batchWith(bug)).filter(({ id }) => id.startsWith(`${law} `))
    expect(laws.some(({ fails }) => fails())).toBe(true)
  })
})

describe('the worlds in which the laws ask', () => {
  const traces = fc
    .sample(world({ within: true }), { numRuns: 1_000, seed: 1 })
    .map((asked) => ({ asked, trace: play(batch, asked) }))
  const share = (holds: (trace: Trace, asked: World) => boolean): number =>
    traces.filter(({ trace, asked }) => holds(trace, asked)).length / traces.length
  const closed = (by: ClosedBy) => (trace: Trace) => batchesOf(trace).some((each) => each.closedBy === by)

  it.each(['count', 'bytes', 'delay', 'flush', 'end'] as const)('have batches closed by %s', (cause) => {
    expect(share(closed(cause))).toBeGreaterThan(0.1)
  })

  it('reach the limits: bodies full to the byte, items too large, items without bytes, a rest at unsubscribing', () => {
    const full = share((trace, { settings }) =>
      batchesOf(trace).some((each) => each.byteLength === settings.maxBytes),
    )
    expect(full).toBeGreaterThan(0.1)
    expect(share((trace) => refusalsOf(trace).length > 0)).toBeGreaterThan(0.1)
    expect(share((trace) => trace.offered.some((item) => item.size === 0))).toBeGreaterThan(0.5)
    expect(share((trace) => trace.abandoned.length > 0)).toBeGreaterThan(0.1)
    expect(share((trace) => batchesOf(trace).some((each) => each.items.length >= 20))).toBeGreaterThan(0.01)
  })

  it('wait to the millisecond', () => {
    const exact = share((trace, { settings }) =>
      batchesOf(trace).some((each) => each.at - (each.items[0]?.at ?? 0) === settings.maxDelay),
    )
    expect(exact).toBeGreaterThan(0.1)
  })
})
