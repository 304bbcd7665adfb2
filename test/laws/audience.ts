/** The laws of audiences and computed traits (CO3), for both in one: states are played by a kind that knows how to read them. */
import * as fc from 'fast-check'
import { concatMap, from, lastValueFrom, toArray } from 'rxjs'
import type { Observable } from 'rxjs'
import type { Change } from '../../src/collector/audienceChanges.ts'
import type { Sync } from '../../src/collector/audience.ts'
import { holds, same } from './policyLaw.ts'

export interface CheckableLaw {
  readonly id: string
  readonly check: () => Promise<void>
  /** Whether it is broken; for mutants, where the counterexample need not be small. */
  readonly fails: () => Promise<boolean>
}

const RUNS = { numRuns: 1_000 }

const law = <T>(id: string, property: fc.IRawProperty<T>): CheckableLaw => ({
  id,
  check: async () => {
    await fc.assert(property, RUNS)
  },
  fails: async () => (await fc.check(property, { ...RUNS, endOnFailure: true })).failed,
})

/** What is under test, for states made of pairs; an audience has `true` for each of its members. */
export interface Syncing<V> {
  readonly changes: (
    previous: Pairs<V>,
    current: Pairs<V>,
    inDoubt: ReadonlyArray<string>,
  ) => Iterable<Change<unknown>>
  /** Plays states through the operator. */
  readonly operator: (told: ToldPairs<V>) => (states: Observable<Pairs<V>>) => Observable<Played<V>>
  /** Hands a state over, changes it behind the operator's back, and answers what the operator then says. */
  readonly changedBehind: (first: Pairs<V>, second: Pairs<V>) => Iterable<Change<unknown>>
}

export type Pairs<V> = ReadonlyArray<readonly [userId: string, value: V]>

export interface ToldPairs<V> {
  readonly previous: Pairs<V>
  readonly inDoubt: ReadonlyArray<string>
}

export interface Played<V> {
  readonly sync: Sync<unknown, unknown>
  readonly before: ToldPairs<V>
  readonly after: ToldPairs<V>
}

/** What a law needs to know of the kind: its values, and what somebody has who is not there. */
export interface Kind<V> {
  readonly value: fc.Arbitrary<V>
  /** Values that can be changed in place. */
  readonly changeable: fc.Arbitrary<V>
  readonly absent: unknown
}

/** Keys in order, so that equal data has equal text. Written apart from the code that it judges. */
export const canon = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  )

const USERS = ['ann', 'bob', 'cid', 'dora', 'eve', 'constructor', '__proto__', '7', 'ä']
export const user: fc.Arbitrary<string> = fc.constantFrom(...USERS)

export const stateOf = <V>(value: fc.Arbitrary<V>): fc.Arbitrary<Pairs<V>> =>
  fc.uniqueArray(fc.tuple(user, value), { selector: ([userId]) => userId, maxLength: USERS.length })

export const states = <V>(kind: Kind<V>): fc.Arbitrary<ReadonlyArray<Pairs<V>>> =>
  fc.array(stateOf(kind.value), { minLength: 1, maxLength: 6 })

export const doubts: fc.Arbitrary<ReadonlyArray<string>> = fc.uniqueArray(user, { maxLength: 4 })

type Known = ReadonlyMap<string, string>

const knownOf = <V>(pairs: Pairs<V>, { absent }: Kind<V>): Known =>
  new Map(
    pairs.map(([id, value]) => [id, canon(value)] as const).filter(([, text]) => text !== canon(absent)),
  )

/** What receivers know after they were told more. */
const told = <V>(known: Known, changes: Iterable<Change<unknown>>, { absent }: Kind<V>): Known => {
  const after = new Map(known)
  for (const { userId, value } of changes) {
    if (canon(value) === canon(absent)) after.delete(userId)
    else after.set(userId, canon(value))
  }
  return after
}

const sorted = (known: Known): unknown => [...known].sort(([a], [b]) => (a < b ? -1 : 1))

/** The calls of a sync, read as changes; a call that is not exactly as it should be is a change of nobody. */
export const changesOf = (sync: Sync<unknown, unknown>): ReadonlyArray<Change<unknown>> =>
  [...sync.calls].map(({ type, userId, traits, ...more }) => ({
    userId: `${type}${Object.keys(more).join()}` === 'identify' ? userId : '?',
    value: Object.keys(traits).join() === sync.trait ? traits[sync.trait] : undefined,
  }))

const playAll = async <V>(
  { operator }: Syncing<V>,
  start: ToldPairs<V>,
  given: ReadonlyArray<Pairs<V>>,
): Promise<ReadonlyArray<Played<V>>> =>
  lastValueFrom(from(given).pipe(operator(start), toArray()), { defaultValue: [] })

export const audienceLaws = <V>(subject: Syncing<V>, kind: Kind<V>): ReadonlyArray<CheckableLaw> => {
  const state = stateOf(kind.value)
  const changeable = stateOf(kind.changeable)
  const known = (pairs: Pairs<V>): Known => knownOf(pairs, kind)
  const valueIn = (pairs: Pairs<V>, id: string): string => known(pairs).get(id) ?? canon(kind.absent)

  return [
    law(
      'A1 the changes, applied to the previous state, give the current one',
      fc.property(state, state, (previous, current) => {
        same(
          sorted(told(known(previous), subject.changes(previous, current, []), kind)),
          sorted(known(current)),
        )
      }),
    ),
    law(
      'A2 one for each user who changed or is in doubt, none for the others, and nobody twice',
      fc.property(state, state, doubts, (previous, current, inDoubt) => {
        const named = [...subject.changes(previous, current, inDoubt)].map(({ userId }) => userId)
        const expected = USERS.filter(
          (id) => inDoubt.includes(id) || valueIn(previous, id) !== valueIn(current, id),
        )
        same([...named].sort(), [...expected].sort())
      }),
    ),
    law(
      'A3 on creation one for everybody, in the order of the state',
      fc.property(state, (current) => {
        const named = [...subject.changes([], current, [])].map(({ userId }) => userId)
        same(named, [...known(current).keys()])
      }),
    ),
    law(
      'A4 first those who are there, in the order of the state; then those who are gone, in the order of the last; then doubts',
      fc.property(state, state, doubts, (previous, current, inDoubt) => {
        const order = [...current, ...previous].map(([id]) => id).concat(inDoubt)
        const named = [...subject.changes(previous, current, inDoubt)].map(({ userId }) => userId)
        const places = named.map((id) => order.indexOf(id))
        same(
          places,
          [...places].sort((a, b) => a - b),
        )
      }),
    ),
    law(
      'A5 whatever states lie in between: the sum of the syncs is the same, and each begins where the last one ended',
      fc.asyncProperty(state, states(kind), fc.infiniteStream(fc.boolean()), async (previous, all, coin) => {
        const last = all.slice(-1)
        const some = all.slice(0, -1).filter(() => coin.next().value)
        for (const given of [all, [...some, ...last], last]) {
          let receivers = known(previous)
          for (const [at, { sync }] of (await playAll(subject, { previous, inDoubt: [] }, given)).entries()) {
            receivers = told(receivers, changesOf(sync), kind)
            same(sorted(receivers), sorted(known(given[at] ?? [])))
          }
        }
      }),
    ),
    law(
      'A6 the operator says in each sync what the pure step says',
      fc.asyncProperty(state, states(kind), doubts, async (previous, all, inDoubt) => {
        const played = await playAll(subject, { previous, inDoubt }, all)
        same(
          played.map(({ sync }) => changesOf(sync)),
          all.map((current, at) => [
            ...subject.changes(at === 0 ? previous : (all[at - 1] ?? []), current, at === 0 ? inDoubt : []),
          ]),
        )
      }),
    ),
    law(
      'A7 a crash at any call, any number of times: with what was stored before, receivers end up with the truth',
      fc.asyncProperty(
        state,
        fc.array(fc.tuple(state, fc.nat({ max: 6 })), { maxLength: 4 }),
        state,
        async (first, crashes, end) => {
          let receivers = known(first)
          let stored: ToldPairs<V> = { previous: first, inDoubt: [] }
          for (const [current, calls] of crashes) {
            const [played] = await playAll(subject, stored, [current])
            if (played === undefined) throw new Error('no sync for a state')
            stored = played.before
            receivers = told(receivers, changesOf(played.sync).slice(0, calls), kind)
          }
          const [played] = await playAll(subject, stored, [end])
          if (played === undefined) throw new Error('no sync for a state')
          same(sorted(told(receivers, changesOf(played.sync), kind)), sorted(known(end)))
          same(sorted(known(played.after.previous)), sorted(known(end)))
          same(played.after.inDoubt, [])
        },
      ),
    ),
    law(
      'A8 each subscription starts with what was told',
      fc.asyncProperty(state, states(kind), async (previous, all) => {
        const run = subject.operator({ previous, inDoubt: [] })
        const play = async (): Promise<unknown> =>
          lastValueFrom(
            from(all).pipe(
              run,
              concatMap(({ sync }) => changesOf(sync)),
              toArray(),
            ),
            { defaultValue: [] },
          )
        same(await play(), await play())
      }),
    ),
    law(
      'A9 a state that is changed after it was handed over changes nothing',
      fc.property(changeable, changeable, (first, second) => {
        same([...subject.changedBehind(first, second)], [...subject.changes(first, second, [])])
      }),
    ),
    law(
      'A10 calls can be gone through again, at once or in turns, and are the same',
      fc.asyncProperty(state, state, doubts, async (previous, current, inDoubt) => {
        const [played] = await playAll(subject, { previous, inDoubt }, [current])
        if (played === undefined) throw new Error('no sync for a state')
        const slowly: unknown[] = []
        for await (const call of played.sync.calls) slowly.push(call)
        same(slowly, [...played.sync.calls])
        holds(
          played.before.inDoubt.join() === [...played.sync.calls].map(({ userId }) => userId).join(),
          'those in doubt are not those who are named',
        )
      }),
    ),
  ]
}
