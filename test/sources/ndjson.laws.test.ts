import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ndjson } from '../../src/sources/ndjson.ts'
import { file, ndjsonLaws } from '../laws/ndjson.ts'
import { ndjsonBugs, ndjsonWith } from '../mutants/ndjson.ts'
import type { NdjsonBug } from '../mutants/ndjson.ts'

describe('reading NDJSON', () => {
  it.each(ndjsonLaws(ndjson))('keeps $id', async ({ property }) => {
    await fc.assert(property, { numRuns: 1_000 })
  })

  it('is not told apart from a second, plain writing, from which the mutants are made', async () => {
    for (const { property } of ndjsonLaws(ndjsonWith(undefined)))
      await fc.assert(property, { numRuns: 1_000 })
  })

  it('is asked about files with everything that may be in a file', () => {
    const files = fc.sample(file, { numRuns: 1_000, seed: 1 })
    const share = (holds: (of: (typeof files)[number]) => boolean): number =>
      files.filter(holds).length / 1_000
    expect(share(({ values }) => values.length >= 4)).toBeGreaterThan(0.3)
    expect(share(({ values }) => /[^\0-\x7f]/.test(JSON.stringify(values)))).toBeGreaterThan(0.4)
    expect(
      share(({ values, cuts }) => /[\ud800-\udbff]/.test(JSON.stringify(values)) && Math.max(...cuts) < 5),
    ).toBeGreaterThan(0.05)
    expect(share(({ bom, cuts }) => bom && (cuts[0] ?? 9) < 3)).toBeGreaterThan(0.1)
    expect(share(({ lastBreak, values }) => !lastBreak && values.length > 0)).toBeGreaterThan(0.3)
  })

  // The keys of an object are its keys.
  const bugs = (Object.keys(ndjsonBugs) as NdjsonBug[]).map((bug) => {
    const [law, what] = ndjsonBugs[bug]
    return { bug, law, what }
  })
  it.each(bugs)('would be caught by $law if it $what', async ({ bug, law }) => {
    const laws = ndjsonLaws(ndjsonWith(bug)).filter(({ id }) => id.startsWith(`${law} `))
    const results = await Promise.all(
      laws.map(({ property }) => fc.check(property, { numRuns: 1_000, endOnFailure: true })),
    )
    expect(results.map(({ failed }) => failed)).toEqual([true])
  })
})
