import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { audienceLaws, canon, doubts, stateOf, states } from '../../laws/audience.ts'
import { audienceMutants } from '../../mutants/audience.ts'
import { audience, membership, trait, values } from './subjects.ts'

describe('audiences', () => {
  it.each(audienceLaws(audience, membership))('keep $id', async ({ check }) => check())
})

describe('computed traits', () => {
  it.each(audienceLaws(trait, values))('keep $id', async ({ check }) => check())
})

describe('the laws kill', () => {
  const mutants = Object.entries(audienceMutants).map(([what, [id, mutant]]) => ({ what, id, mutant }))
  it.each(mutants)('by $id what $what', async ({ id, mutant }) => {
    const fails = [audienceLaws(mutant(audience), membership), audienceLaws(mutant(trait), values)].map(
      async (laws) => laws.find((each) => each.id.startsWith(`${id} `))?.fails(),
    )
    expect(await Promise.all(fails)).toEqual([true, true])
  })
})

describe('the generators reach what they are for', () => {
  const RUNS = { numRuns: 1_000, seed: 1 }
  const share = <A>(values: fc.Arbitrary<A>, has: (value: A) => boolean): number =>
    fc.sample(values, RUNS).filter(has).length / 1_000
  const pairs = fc.tuple(stateOf(values.value), stateOf(values.value))

  it('empty states, full ones, several in a row, doubts', () => {
    expect(share(stateOf(values.value), (state) => state.length === 0)).toBeGreaterThan(0.03)
    expect(share(stateOf(values.value), (state) => state.length > 6)).toBeGreaterThan(0.1)
    expect(share(states(membership), (all) => all.length > 3)).toBeGreaterThan(0.2)
    expect(share(doubts, (users) => users.length > 1)).toBeGreaterThan(0.3)
  })

  it('users who stay, come, go, and have another value', () => {
    expect(
      share(pairs, ([a, b]) =>
        a.some(([id, value]) => b.some((each) => each[0] === id && canon(each[1]) === canon(value))),
      ),
    ).toBeGreaterThan(0.1)
    expect(
      share(pairs, ([a, b]) =>
        a.some(([id, value]) => b.some((each) => each[0] === id && canon(each[1]) !== canon(value))),
      ),
    ).toBeGreaterThan(0.5)
    expect(share(pairs, ([a, b]) => a.some(([id]) => !b.some((each) => each[0] === id)))).toBeGreaterThan(0.5)
    expect(share(pairs, ([, b]) => b.some(([, value]) => value === null))).toBeGreaterThan(0.1)
  })
})
