/** Laws of audiences and computed traits. Both play states made of pairs; an audience has `true` for each of its members. */
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { from, lastValueFrom, map, Subject, toArray } from 'rxjs'
import { describe, it } from 'vitest'
import {
  audienceSync,
  computedTrait,
  membershipChanges,
  traitChanges,
  traitNameOf,
} from '../../src/collector/audience.ts'
import type { Change, Sync } from '../../src/collector/audience.ts'
import { same } from '../support/check.ts'

export type Pairs<V> = ReadonlyArray<readonly [userId: string, value: V]>
type Changes = ReadonlyArray<Change<unknown>>

export interface Played {
  readonly changes: Changes
  readonly state: ReadonlyArray<unknown>
}

/** The code under test. */
export interface Syncing<V> {
  readonly changes: (previous: Pairs<V>, current: Pairs<V>) => Changes
  readonly play: (previous: Pairs<V>, states: ReadonlyArray<Pairs<V>>) => Promise<ReadonlyArray<Played>>
  /** Gives a state to the operator, changes it in place, and answers the sync of the next one. */
  readonly changedInPlace: (first: Pairs<V>, second: Pairs<V>) => Changes
}

interface Kind<V> {
  readonly value: fc.Arbitrary<V>
  readonly changeable: fc.Arbitrary<V>
  readonly absent: unknown
}

const USERS = ['ann', 'bob', 'cid', 'dora', 'eve', 'constructor', '__proto__', '7', 'ä']

const stateOf = <V>(value: fc.Arbitrary<V>): fc.Arbitrary<Pairs<V>> =>
  fc.uniqueArray(fc.tuple(fc.constantFrom(...USERS), value), {
    selector: ([userId]) => userId,
    maxLength: USERS.length,
  })

const ids = (pairs: Pairs<unknown>): ReadonlyArray<string> => pairs.map(([id]) => id)

/** A call of another shape counts as a change of no user. */
const changesOf = <S, V>({ trait, calls }: Sync<S, V>): Changes =>
  calls.map((call) => {
    const [[name, value] = []] = Object.entries(call.traits)
    const expected = { type: 'identify', userId: call.userId, traits: { [trait]: value } }
    return { userId: name === trait && isDeepStrictEqual(call, expected) ? call.userId : '?', value }
  })

export const audience: Syncing<true> = {
  changes: (previous, current) => membershipChanges(new Set(ids(previous)), new Set(ids(current))),
  play: (previous, states) =>
    lastValueFrom(
      from(states).pipe(
        // With repeated ids.
        map((state) => [...ids(state), ...ids(state).slice(0, 2)]),
        audienceSync({ name: 'VIP Customers', previous: ids(previous) }),
        map((sync) => ({ changes: changesOf(sync), state: [...sync.state].map((id) => [id, true]) })),
        toArray(),
      ),
      { defaultValue: [] },
    ),
  changedInPlace: (first, second) => {
    const state = new Set(ids(first))
    const seen: Changes[] = []
    const states = new Subject<ReadonlySet<string>>()
    states.pipe(audienceSync({ name: 'VIP' })).subscribe((sync) => seen.push(changesOf(sync)))
    states.next(state)
    state.clear()
    for (const id of ids(second)) state.add(id)
    states.next(state)
    return seen[1] ?? []
  },
}

export const trait: Syncing<unknown> = {
  changes: (previous, current) => traitChanges(new Map(previous), new Map(structuredClone(current))),
  play: (previous, states) =>
    lastValueFrom(
      from(states).pipe(
        map((state) => [...ids(state).map((id) => [id, 'overwritten'] as const), ...structuredClone(state)]),
        computedTrait<unknown>({ name: 'lifetimeValue', previous }),
        map((sync) => ({ changes: changesOf(sync), state: [...sync.state] })),
        toArray(),
      ),
      { defaultValue: [] },
    ),
  changedInPlace: (first, second) => {
    const state = new Map(structuredClone(first))
    const seen: Changes[] = []
    const states = new Subject<ReadonlyMap<string, unknown>>()
    states.pipe(computedTrait({ name: 'value' })).subscribe((sync) => seen.push(changesOf(sync)))
    states.next(state)
    const next = second.map(([id, value]) => [id, Object.assign(state.get(id) ?? {}, value)] as const)
    state.clear()
    for (const [id, value] of next) state.set(id, value)
    states.next(state)
    return seen[1] ?? []
  },
}

export const membership: Kind<true> = {
  value: fc.constant(true),
  changeable: fc.constant(true),
  absent: false,
}

export const values: Kind<unknown> = {
  value: fc.oneof(
    fc.constantFrom<unknown>(null, 0, 1, '1', true, false, '', [1, 2], [2, 1], [], {}, { a: 1 }),
    fc.constantFrom<unknown>({ a: 1, b: [{ c: 2, d: 3 }] }, { b: [{ d: 3, c: 2 }], a: 1 }, { a: 1, b: null }),
    // Through text, as stored states come: without -0.
    fc.json({ maxDepth: 2 }).map((text): unknown => JSON.parse(JSON.stringify(JSON.parse(text)))),
  ),
  changeable: fc.record({ n: fc.nat({ max: 2 }) }, { noNullPrototype: true }),
  absent: null,
}

export interface AudienceLaw {
  readonly id: string
  readonly property: fc.IRawProperty<unknown>
}

export const audienceLaws = <V>(subject: Syncing<V>, kind: Kind<V>): ReadonlyArray<AudienceLaw> => {
  const state = stateOf(kind.value)
  const states = fc.array(state, { minLength: 1, maxLength: 6 })
  const changeable = stateOf(kind.changeable)
  const valueIn = (pairs: Pairs<V>, id: string): unknown =>
    pairs.find(([each]) => each === id)?.[1] ?? kind.absent
  const named = (changes: Changes): ReadonlyArray<string> => changes.map(({ userId }) => userId)

  return [
    {
      id: 'A1 one change for each user whose value differs, with the new value, and no other',
      property: fc.property(state, state, (previous, current) => {
        const changes = subject.changes(previous, current)
        const expected = USERS.filter(
          (id) => !isDeepStrictEqual(valueIn(previous, id), valueIn(current, id)),
        ).map((userId) => ({ userId, value: valueIn(current, userId) }))
        same(
          changes.toSorted((a, b) => USERS.indexOf(a.userId) - USERS.indexOf(b.userId)),
          expected,
        )
      }),
    },
    {
      id: 'A2 users of the state come first, in its order; then users who are gone, in the order of the state before',
      property: fc.property(state, state, (previous, current) => {
        const order = [...ids(current), ...ids(previous)]
        const places = named(subject.changes(previous, current)).map((id) => order.indexOf(id))
        same(
          places,
          places.toSorted((a, b) => a - b),
        )
      }),
    },
    {
      id: 'A3 each sync goes from the state before to the given one, and names that state to be stored',
      property: fc.asyncProperty(state, states, async (previous, all) => {
        const expected = all.map((current, at) => ({
          changes: subject.changes(all[at - 1] ?? previous, current),
          state: current,
        }))
        same(await subject.play(previous, all), expected)
      }),
    },
    {
      id: 'A4 a state that is changed in place after it was given changes nothing',
      property: fc.property(changeable, changeable, (first, second) =>
        same(subject.changedInPlace(first, second), subject.changes(first, second)),
      ),
    },
  ]
}

type TraitName = (name: string) => string | undefined

const is = (pattern: RegExp) => (char: string | undefined) => char !== undefined && pattern.test(char)
const isMark = is(/^\p{M}$/u)
const isLower = is(/^\p{Ll}$/u)
const isWordChar = is(/^[\p{L}\p{Nd}]$/u)
const isCapital = is(/^\p{CWL}$/u)

/** The rule of trait names, character by character. */
const expectedName: TraitName = (name) => {
  const words: string[][] = []
  let word: string[] | undefined
  // A character with its marks is one unit.
  for (const char of name.normalize('NFC')) {
    if (isMark(char) && word !== undefined) word.push(`${word.pop() ?? ''}${char}`)
    else if (!isWordChar(char)) word = undefined
    else if (word === undefined) words.push((word = [char]))
    else word.push(char)
  }
  const first = (unit: string | undefined): string | undefined => (unit === undefined ? unit : [...unit][0])
  const split = words.map((units) =>
    units
      .map((unit, at) => {
        const [before, after] = [first(units[at - 1]), first(units[at + 1])]
        const begins = isLower(before) || (isCapital(before) && isLower(after))
        return isCapital(first(unit)) && begins ? `_${unit}` : unit
      })
      .join(''),
  )
  return split.length === 0 ? undefined : split.join('_').toLowerCase().normalize('NFC')
}

const name = fc.oneof(
  fc.string({
    unit: fc.constantFrom(...'aBcDE1 _-!éÉßıİΣσЖжअि中ǅ\u0301\u0308𝐀𝐚½Ⅳ'),
    maxLength: 12,
    size: 'max',
  }),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
)

export const nameLaws = (traitName: TraitName): ReadonlyArray<AudienceLaw> => [
  {
    id: 'N1 a trait name follows the rule, character by character',
    property: fc.property(name, (each) => same(traitName(each), expectedName(each))),
  },
  {
    id: 'N2 a trait name is its own trait name, in both spellings of a character',
    property: fc.property(name, (each) => {
      const found = traitName(each)
      if (found !== undefined) same(traitName(found), found)
      same(traitName(each.normalize('NFD')), found)
    }),
  },
]

describe('laws of audiences', () =>
  it.each(audienceLaws(audience, membership))('$id', ({ property }) => fc.assert(property)))

describe('laws of computed traits', () =>
  it.each(audienceLaws(trait, values))('$id', ({ property }) => fc.assert(property)))

describe('laws of trait names', () =>
  it.each(nameLaws(traitNameOf))('$id', ({ property }) => fc.assert(property)))
