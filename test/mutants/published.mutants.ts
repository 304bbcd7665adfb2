/** Each published mutant breaks the law that is named beside it, within 100 runs, whatever the seed; and each law is broken by one. */
import { describe, expect, it } from 'vitest'
import { reportOf, type Law } from '../../src/testing/laws/index.ts'
import { pushedOutboxes, rooms } from '../support/publishedLaws.ts'

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]

const found = async (laws: ReadonlyArray<Law>, id: string): Promise<ReadonlyArray<number>> => {
  const seeds: number[] = []
  for (const law of laws.filter((each) => each.id === id))
    for (const seed of SEEDS)
      if ((await reportOf(law, { runs: 100, seed })).result === 'broken') seeds.push(seed)
  return seeds
}

describe.each([...rooms, pushedOutboxes])('the laws of $name', ({ laws, mutants }) => {
  it.each(mutants)('$breaks: one that $name', async (mutant) => {
    expect(await found(mutant.laws(), mutant.breaks)).toEqual(SEEDS)
  })

  it('are each broken by one', () => {
    const killed = new Set(mutants.map(({ breaks }) => breaks))
    expect(laws.map(({ id }) => id).filter((id) => !killed.has(id))).toEqual([])
  })
})
