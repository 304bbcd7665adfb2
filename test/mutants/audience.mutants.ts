/** Audiences with one fault each, and the law that finds it. */
import * as fc from 'fast-check'
import { concatMap, from, lastValueFrom, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { traitNameOf, type Change } from '../../src/collector/audience.ts'
import { audience, audienceLaws, membership, nameLaws, trait, values } from '../laws/audience.laws.ts'
import type { AudienceLaw, Pairs, Syncing } from '../laws/audience.laws.ts'

type Changes = ReadonlyArray<Change<unknown>>
type Mutant = <V>(real: Syncing<V>) => Syncing<V>

const changing =
  (change: <V>(changes: Changes, previous: Pairs<V>, current: Pairs<V>) => Changes): Mutant =>
  (real) => ({
    ...real,
    changes: (previous, current) => change(real.changes(previous, current), previous, current),
  })

const has = (pairs: Pairs<unknown>, id: string): boolean => pairs.some(([each]) => each === id)

const mutants: Readonly<Record<string, readonly [law: string, mutant: Mutant]>> = {
  'omits users who are gone': [
    'A1',
    changing((changes, _, current) => changes.filter(({ userId }) => has(current, userId))),
  ],
  'names a user twice': ['A1', changing((changes) => [...changes, ...changes.slice(0, 1)])],
  'gives the old value': [
    'A1',
    changing((changes, previous) =>
      changes.map(({ userId }) => ({ userId, value: previous.find(([id]) => id === userId)?.[1] ?? false })),
    ),
  ],
  'reverses the order': ['A2', changing((changes) => changes.toReversed())],
  'compares with the first state always': [
    'A3',
    (real) => ({
      ...real,
      play: (previous, states) =>
        lastValueFrom(
          from(states).pipe(
            concatMap((state) => real.play(previous, [state])),
            concatMap((played) => played),
            toArray(),
          ),
          { defaultValue: [] },
        ),
    }),
  ],
  'stores the state before': [
    'A3',
    (real) => ({
      ...real,
      play: async (previous, states) =>
        (await real.play(previous, states)).map((played, at) => ({
          ...played,
          state: states[at - 1] ?? previous,
        })),
    }),
  ],
  'keeps a state by reference': ['A4', (real) => ({ ...real, changedInPlace: () => [] })],
}

const failsBy = async (laws: ReadonlyArray<AudienceLaw>, id: string): Promise<boolean> => {
  const law = laws.find((each) => each.id.startsWith(`${id} `))
  if (law === undefined) throw new Error(`no law ${id}`)
  return (await fc.check(law.property, { endOnFailure: true, numRuns: 1_000 })).failed
}

describe('the laws of audiences find', () => {
  const all = Object.entries(mutants).map(([what, [id, mutant]]) => ({ what, id, mutant }))
  it.each(all)('by $id one that $what', async ({ id, mutant }) => {
    expect(await failsBy(audienceLaws(mutant(audience), membership), id)).toBe(true)
    expect(await failsBy(audienceLaws(mutant(trait), values), id)).toBe(true)
  })
})

describe('the laws of trait names find', () =>
  it.each<[what: string, id: string, mutant: (name: string) => string | undefined]>([
    ['one that keeps capitals', 'N1', (name) => name.match(/[\p{L}\p{Nd}\p{M}]+/gu)?.join('_')],
    ['one that splits at every capital', 'N1', (name) => traitNameOf(name.replaceAll(/(?=\p{Lu})/gu, ' '))],
    ['one that drops marks', 'N1', (name) => traitNameOf(name.normalize('NFD').replaceAll(/\p{M}/gu, ''))],
    [
      'one that does not normalise',
      'N2',
      (name) => name.match(/[\p{L}\p{Nd}][\p{L}\p{Nd}\p{M}]*/gu)?.join('_'),
    ],
  ])('%s', async (_, id, mutant) => {
    expect(await failsBy(nameLaws(mutant), id)).toBe(true)
  }))
