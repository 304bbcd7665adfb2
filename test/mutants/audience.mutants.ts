import { audience, audienceLaws, membership, nameLaws, trait, values } from '../laws/audience.laws.ts'
import type { Pairs, Play, Played, TraitName } from '../laws/audience.laws.ts'
import { itCatches } from '../support/mutants.ts'

type Mutant = (play: Play) => Play

const changing =
  (change: (played: Played, previous: Pairs) => Partial<Played>): Mutant =>
  (play) =>
  (previous, states) =>
    play(previous, states).map((each, at) => ({ ...each, ...change(each, states[at - 1] ?? previous) }))

const mutants: Readonly<Record<`${string}: ${string}`, Mutant>> = {
  'A1: it omits users who are gone': changing(({ changes, state }) => ({
    changes: changes.filter(({ userId }) => state.some(([id]) => id === userId)),
  })),
  'A1: it compares with the first state always': (play) => (previous, states) =>
    states.flatMap((state) => play(previous, [state])),
  'A2: it stores the state before': changing((_, previous) => ({ state: previous })),
}

itCatches<Mutant>('audiences', (mutant) => audienceLaws(mutant(audience), membership), mutants)
itCatches<Mutant>('computed traits', (mutant) => audienceLaws(mutant(trait), values), mutants)
itCatches<TraitName>('trait names', nameLaws, {
  'N1: they are not normalised': (name) => name.match(/[\p{L}\p{Nd}][\p{L}\p{Nd}\p{M}]*/gu)?.join('_'),
})
