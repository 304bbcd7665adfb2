/** Laws of audiences and computed traits. Both play states made of pairs; an audience has `true` for each of its members. */
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { Subject, type Observable } from 'rxjs'
import { describe } from 'vitest'
import { audienceSync, computedTrait, traitNameOf } from '../../src/collector/audience.ts'
import type { Change, Sync } from '../../src/collector/audience.ts'
import { itKeeps, law, same, type Law } from '../support/check.ts'

export type Pairs = ReadonlyArray<readonly [userId: string, value: unknown]>
export type Played = Readonly<{ changes: ReadonlyArray<Change<unknown>>; state: Pairs }>

export type Play = (previous: Pairs, states: ReadonlyArray<Pairs>) => ReadonlyArray<Played>
const ids = (pairs: Pairs): ReadonlyArray<string> => pairs.map(([id]) => id)

/** A call of another shape counts as a change of no user. */
const changesOf = ({ trait, calls }: Sync<unknown, unknown>): Played['changes'] =>
  calls.map((call) => {
    const value = call.traits[trait]
    const expected = { type: 'identify', userId: call.userId, traits: { [trait]: value } }
    return { userId: isDeepStrictEqual(call, expected) ? call.userId : '?', value }
  })

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
const empty = (value: object): void => Object.keys(value).forEach((key) => Reflect.deleteProperty(value, key))

/** Gives states to an operator, and empties each of them, and its values, as soon as it was given: the operator has a copy. */
const playing =
  <I, S>(
    operator: (previous: I[]) => (states: Observable<I[]>) => Observable<Sync<S, unknown>>,
    itemsOf: (pairs: Pairs) => I[],
    pairsOf: (state: S) => Pairs,
  ): Play =>
  (previous, states) => {
    const syncs: Array<Sync<S, unknown>> = []
    const given = new Subject<I[]>()
    given.pipe(operator(itemsOf(previous))).subscribe((sync) => syncs.push(sync))
    for (const state of states) {
      const items = itemsOf(state)
      given.next(items)
      for (const item of items) if (isObject(item)) Object.values(item).filter(isObject).forEach(empty)
      items.length = 0
    }
    return syncs.map((sync) => ({ changes: changesOf(sync), state: pairsOf(sync.state) }))
  }

export const audience = playing(
  (previous: string[]) => audienceSync({ name: 'VIP Customers', previous }),
  (pairs) => [...ids(pairs), ...ids(pairs).slice(0, 2)],
  (members) => [...members].map((id) => [id, true]),
)

export const trait = playing(
  (previous: Array<Pairs[number]>) => computedTrait({ name: 'lifetimeValue', previous }),
  (pairs) => [...ids(pairs).map((id) => [id, 'overwritten'] as const), ...structuredClone(pairs)],
  (values) => [...values],
)

type Kind = Readonly<{ value: fc.Arbitrary<unknown>; absent: unknown }>
export const membership: Kind = { value: fc.constant(true), absent: false }

export const values: Kind = {
  value: fc.oneof(
    fc.constantFrom<unknown>(null, 0, 1, '1', true, false, '', [1, 2], [2, 1], [], {}, { a: 1 }),
    fc.constantFrom<unknown>({ a: 1, b: [{ c: 2, d: 3 }] }, { b: [{ d: 3, c: 2 }], a: 1 }, { a: 1, b: null }),
  ),
  absent: null,
}

const USERS = ['ann', 'bob', 'cid', 'dora', 'eve', 'constructor', '__proto__', '7', 'ä']

export const audienceLaws = (play: Play, { value, absent }: Kind): ReadonlyArray<Law> => {
  const state: fc.Arbitrary<Pairs> = fc.uniqueArray(fc.tuple(fc.constantFrom(...USERS), value), {
    selector: ([userId]) => userId,
    maxLength: USERS.length,
  })
  const states = fc.array(state, { minLength: 1, maxLength: 6 })
  const valueIn = (pairs: Pairs, id: string): unknown => pairs.find(([each]) => each === id)?.[1] ?? absent
  const changed = (previous: Pairs, current: Pairs): ReadonlyArray<string> =>
    [...new Set([...ids(current), ...ids(previous)])].filter(
      (id) => !isDeepStrictEqual(valueIn(previous, id), valueIn(current, id)),
    )

  return [
    law(
      'A1 a change for each user whose value differs: users of the state in its order, then those who are gone',
      fc.tuple(state, states),
      ([previous, all]) =>
        same(
          play(previous, all).map(({ changes }) => changes),
          all.map((current, at) =>
            changed(all[at - 1] ?? previous, current).map((userId) => ({
              userId,
              value: valueIn(current, userId),
            })),
          ),
        ),
    ),
    law(
      'A2 each sync names the given state to be stored, whatever becomes of it later',
      fc.tuple(state, states),
      ([previous, all]) => play(previous, all).forEach((each, at) => same(each.state, all[at])),
    ),
  ]
}

export type TraitName = (name: string) => string | undefined

const name = fc.oneof(
  fc.string({
    unit: fc.constantFrom(...'aBcDE1 _-!éÉßıİΣσЖжअि中ǅ\u0301\u0308𝐀𝐚½Ⅳ'),
    maxLength: 12,
    size: 'max',
  }),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
)

export const nameLaws = (traitName: TraitName): ReadonlyArray<Law> => [
  law('N1 a trait name is its own trait name, in both spellings of a character', name, (each) => {
    const found = traitName(each)
    if (found !== undefined) same(traitName(found), found)
    same(traitName(each.normalize('NFD')), found)
  }),
]

describe('laws of audiences', () => itKeeps(audienceLaws(audience, membership)))
describe('laws of computed traits', () => itKeeps(audienceLaws(trait, values)))
describe('laws of trait names', () => itKeeps(nameLaws(traitNameOf)))
