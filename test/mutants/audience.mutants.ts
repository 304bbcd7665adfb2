/** Audiences with one fault each, and the law that finds it. */
import { describe, expect, it } from 'vitest'
import { audience, audienceLaws, membership, nameLaws, trait, values } from '../laws/audience.laws.ts'
import type { Pairs, Play, Played } from '../laws/audience.laws.ts'
import type { PlainLaw } from '../support/check.ts'

/** Changes each sync. */
const changing =
  (change: (played: Played, previous: Pairs) => Partial<Played>) =>
  (play: Play): Play =>
  (previous, states) =>
    play(previous, states).map((each, at) => ({ ...each, ...change(each, states[at - 1] ?? previous) }))

const mutants: ReadonlyArray<readonly [law: string, what: string, mutant: (play: Play) => Play]> = [
  [
    'A1',
    'omits users who are gone',
    changing(({ changes, state }) => ({
      changes: changes.filter(({ userId }) => state.some(([id]) => id === userId)),
    })),
  ],
  [
    'A1',
    'compares with the first state always',
    (play) => (previous, states) => states.flatMap((state) => play(previous, [state])),
  ],
  ['A2', 'stores the state before', changing((_, previous) => ({ state: previous }))],
]

const isBroken = (laws: ReadonlyArray<PlainLaw>, id: string): boolean | undefined =>
  laws.find((each) => each.id.startsWith(`${id} `))?.fails()

describe('the laws of audiences find', () =>
  it.each(mutants)('by %s one that %s', (id, _, mutant) => {
    expect(isBroken(audienceLaws(mutant(audience), membership), id)).toBe(true)
    expect(isBroken(audienceLaws(mutant(trait), values), id)).toBe(true)
  }))

describe('the law of trait names finds', () =>
  it('one that does not normalise', () => {
    const careless = (name: string) => name.match(/[\p{L}\p{Nd}][\p{L}\p{Nd}\p{M}]*/gu)?.join('_')
    expect(isBroken(nameLaws(careless), 'N1')).toBe(true)
  }))
