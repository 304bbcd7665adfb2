/** The real audiences and computed traits, as the laws play them. */
import * as fc from 'fast-check'
import { map, Subject } from 'rxjs'
import { audienceSync, computedTrait } from '../../../src/collector/audience.ts'
import { membershipChanges, traitChanges } from '../../../src/collector/audienceChanges.ts'
import type { Sync } from '../../../src/collector/audience.ts'
import { changesOf } from '../../laws/audience.ts'
import type { Kind, Pairs, Played, Syncing } from '../../laws/audience.ts'

const ids = <V>(pairs: Pairs<V>): ReadonlyArray<string> => pairs.map(([id]) => id)
const members = (users: ReadonlySet<string>): Pairs<true> => [...users].map((id) => [id, true])

const played = <S, V, W>(sync: Sync<S, V>, pairs: (state: S) => Pairs<W>): Played<W> => ({
  sync,
  before: { previous: pairs(sync.before.previous), inDoubt: [...sync.before.inDoubt] },
  after: { previous: pairs(sync.after.previous), inDoubt: [...(sync.after.inDoubt ?? [])] },
})

export const membership: Kind<true> = {
  value: fc.constant(true),
  changeable: fc.constant(true),
  absent: false,
}

/** Handed over as arrays with a repetition, as a careless query gives them. */
const withRepetition = (users: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...users,
  ...users.slice(0, 2),
]

export const audience: Syncing<true> = {
  changes: (previous, current, inDoubt) =>
    membershipChanges(new Set(ids(previous)), new Set(ids(current)), new Set(inDoubt)),
  operator:
    ({ previous, inDoubt }) =>
    (states) =>
      states.pipe(
        map((state) => withRepetition(ids(state))),
        audienceSync({ name: 'VIP Customers', previous: ids(previous), inDoubt }),
        map((sync) => played(sync, members)),
      ),
  changedBehind: (first, second) => {
    const state = new Set(ids(first))
    const syncs: Array<Sync<unknown, unknown>> = []
    const states = new Subject<ReadonlySet<string>>()
    states.pipe(audienceSync({ name: 'VIP' })).subscribe((sync) => syncs.push(sync))
    states.next(state)
    // One set for all states, as a host may keep it.
    state.clear()
    for (const id of ids(second)) state.add(id)
    states.next(state)
    state.clear()
    return syncs[1] === undefined ? [] : changesOf(syncs[1])
  },
}

/** As computed traits are: numbers, texts, null, and data with its keys in any order. */
const data: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, 0, 1, '1', true, false, '', [1, 2], [2, 1], [], {}),
  fc.constantFrom<unknown>(
    { a: 1, b: [{ c: 2, d: 3 }] },
    { b: [{ d: 3, c: 2 }], a: 1 },
    { a: 1 },
    { a: 1, b: null },
  ),
  // As JSON.parse would give it: without -0.
  fc.json({ maxDepth: 2 }).map((text): unknown => JSON.parse(JSON.stringify(JSON.parse(text)))),
)

export const values: Kind<unknown> = {
  value: data,
  changeable: fc.record({ n: fc.nat({ max: 2 }) }),
  absent: null,
}

/** As a host gives it, which computes everything anew. */
const fresh = (pairs: Pairs<unknown>): Pairs<unknown> => structuredClone(pairs)

export const trait: Syncing<unknown> = {
  changes: (previous, current, inDoubt) =>
    traitChanges(new Map(fresh(previous)), new Map(fresh(current)), new Set(inDoubt)),
  operator:
    ({ previous, inDoubt }) =>
    (states) =>
      states.pipe(
        map((state) => [
          ...fresh(state)
            .slice(0, 2)
            .map(([id]) => [id, 'overwritten'] as const),
          ...fresh(state),
        ]),
        computedTrait<unknown>({ name: 'lifetimeValue', previous: fresh(previous), inDoubt }),
        map((sync) => played(sync, (state) => [...state])),
      ),
  changedBehind: (first, second) => {
    const state = new Map(fresh(first))
    const syncs: Array<Sync<unknown, unknown>> = []
    const states = new Subject<ReadonlyMap<string, unknown>>()
    states.pipe(computedTrait({ name: 'value' })).subscribe((sync) => syncs.push(sync))
    states.next(state)
    // One map for all states, as a host may keep it, and in it the very objects of the first one.
    const next = second.map(([id, value]) => [id, Object.assign(state.get(id) ?? {}, value)] as const)
    state.clear()
    for (const [id, value] of next) state.set(id, value)
    states.next(state)
    state.clear()
    return syncs[1] === undefined ? [] : changesOf(syncs[1])
  },
}
