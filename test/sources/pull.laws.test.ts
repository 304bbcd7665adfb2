import * as fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { pull } from '../../src/sources/pull.ts'
import { play, pullLaws, world } from '../laws/pull.ts'
import type { Trace, World } from '../laws/pull.ts'
import { pullBugs } from '../mutants/pull.ts'

describe('pull', () => {
  it.each(pullLaws(pull))('keeps $id', async ({ property }) => {
    await fc.assert(property, { numRuns: 1_000 })
  })

  const bugs = Object.values(pullBugs).map(([law, what, make]) => ({ law, what, make }))
  it.each(bugs)('would be caught by $law if it $what', async ({ law, make }) => {
    const laws = pullLaws(make).filter(({ id }) => id.startsWith(`${law} `))
    const results = await Promise.all(
      laws.map(({ property }) => fc.check(property, { numRuns: 1_000, endOnFailure: true })),
    )
    expect(results.map(({ failed }) => failed)).toEqual([true])
  })
})

describe('the worlds', () => {
  let played: ReadonlyArray<readonly [World, Trace]> = []
  beforeAll(async () => {
    const worlds = fc.sample(world, { numRuns: 1_000, seed: 1 })
    played = await Promise.all(worlds.map(async (asked) => [asked, await play(pull, asked)] as const))
  })
  const share = (holds: (trace: Trace, asked: World) => boolean): number =>
    played.filter(([asked, trace]) => holds(trace, asked)).length / played.length

  it('fill the window, go on after it, and take more items than fit between two turns', () => {
    expect(share(({ most }, { window, total }) => most >= window && total > window)).toBeGreaterThan(0.1)
    expect(share(({ came }) => came.length > 256)).toBeGreaterThan(0.1)
  })

  it('end well, fail, and are stopped in the middle', () => {
    expect(share(({ end }) => end === 'complete')).toBeGreaterThan(0.2)
    expect(share(({ end }) => end === 'error')).toBeGreaterThan(0.2)
    expect(share(({ pulledAtStop, came }) => pulledAtStop !== undefined && came.length > 0)).toBeGreaterThan(
      0.03,
    )
  })
})
