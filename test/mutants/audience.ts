/** Syncs that are wrong on purpose, each in one way, and the law that must see it. Most are the real one, told or given something wrong. */
import { concatMap, from, map, of } from 'rxjs'
import type { Pairs, Played, Syncing } from '../laws/audience.ts'
import type { Change } from '../../src/collector/audienceChanges.ts'
import type { Sync } from '../../src/collector/audience.ts'

type Changes = ReadonlyArray<Change<unknown>>

const ids = <V>(pairs: Pairs<V>): ReadonlyArray<string> => pairs.map(([id]) => id)

/** The pure step with other changes. */
const steps =
  (
    change: <V>(
      changes: Changes,
      previous: Pairs<V>,
      current: Pairs<V>,
      inDoubt: ReadonlyArray<string>,
    ) => Changes,
  ) =>
  <V>(real: Syncing<V>): Syncing<V> => ({
    ...real,
    changes: (previous, current, inDoubt) =>
      change([...real.changes(previous, current, inDoubt)], previous, current, inDoubt),
  })

/** The operator with another result for each state. */
const syncs =
  (change: <V>(played: Played<V>, at: number) => Played<V>) =>
  <V>(real: Syncing<V>): Syncing<V> => ({
    ...real,
    operator: (told) => (states) => states.pipe(real.operator(told), map(change)),
  })

const withCalls = (
  sync: Sync<unknown, unknown>,
  change: (calls: ReadonlyArray<unknown>) => unknown,
): Sync<unknown, unknown> => ({
  ...sync,
  // The whole point: what comes out is not what the type says.
  calls: Object.assign(change([...sync.calls]) as never, {
    [Symbol.asyncIterator]: () => sync.calls[Symbol.asyncIterator](),
  }),
})

type Mutant = <V>(real: Syncing<V>) => Syncing<V>

export const audienceMutants: Readonly<Record<string, readonly [law: string, mutant: Mutant]>> = {
  'forgets those who are gone': [
    'A1',
    steps((changes, _, current) => changes.filter(({ userId }) => ids(current).includes(userId))),
  ],
  'forgets those who are new': [
    'A1',
    steps((changes, previous) => changes.filter(({ userId }) => ids(previous).includes(userId))),
  ],
  'says what was, not what is': [
    'A1',
    steps((changes, previous) =>
      changes.map(({ userId }) => ({
        userId,
        value: previous.find(([id]) => id === userId)?.[1] ?? false,
      })),
    ),
  ],
  'names those who stayed': [
    'A2',
    steps((changes, previous, current) => {
      const named = new Set(changes.map(({ userId }) => userId))
      const stayed = current.filter(([id]) => !named.has(id) && ids(previous).includes(id))
      return [...changes, ...stayed.map(([userId, value]) => ({ userId, value }))]
    }),
  ],
  'names somebody twice': ['A2', steps((changes) => [...changes, ...changes.slice(0, 1)])],
  'names nobody for being in doubt': [
    'A2',
    <V>(real: Syncing<V>): Syncing<V> => ({
      ...real,
      changes: (previous, current) => real.changes(previous, current, []),
    }),
  ],
  'takes a first state for nothing new': [
    'A3',
    steps((changes, previous) => (previous.length === 0 ? [] : changes)),
  ],
  'turns the order round': ['A4', steps((changes) => [...changes].reverse())],
  'sorts by id': ['A3', steps((changes) => [...changes].sort((a, b) => (a.userId < b.userId ? -1 : 1)))],
  'compares with the first state always': [
    'A5',
    <V>(real: Syncing<V>): Syncing<V> => ({
      ...real,
      operator: (told) => (states) =>
        states.pipe(concatMap((state) => from([state]).pipe(real.operator(told)))),
    }),
  ],
  'keeps doubting': [
    'A6',
    <V>(real: Syncing<V>): Syncing<V> => ({
      ...real,
      operator: (told) => (states) => {
        let { previous } = told
        return states.pipe(
          concatMap((state) => {
            const start = { previous, inDoubt: told.inDoubt }
            previous = state
            return of(state).pipe(real.operator(start))
          }),
        )
      },
    }),
  ],
  'loses the first call of each sync': [
    'A6',
    syncs((played) => ({ ...played, sync: withCalls(played.sync, (calls) => calls.slice(1)) })),
  ],
  'names another trait': [
    'A6',
    syncs((played) => ({ ...played, sync: { ...played.sync, trait: `${played.sync.trait}_` } })),
  ],
  'stores nobody in doubt': [
    'A7',
    syncs((played) => ({ ...played, before: { ...played.before, inDoubt: [] } })),
  ],
  'stores the new state before it is told': ['A7', syncs((played) => ({ ...played, before: played.after }))],
  'stores the old state after the new one was told': [
    'A7',
    syncs((played) => ({ ...played, after: { ...played.after, previous: played.before.previous } })),
  ],
  'doubts only what is new in this sync': [
    'A7',
    <V>(real: Syncing<V>): Syncing<V> => ({
      ...real,
      operator: (told) => (states) =>
        states.pipe(
          real.operator(told),
          map((played) => {
            const known = told.inDoubt
            const inDoubt = played.before.inDoubt.filter((id) => !known.includes(id))
            return { ...played, before: { ...played.before, inDoubt } }
          }),
        ),
    }),
  ],
  'shares its state among subscriptions': [
    'A8',
    <V>(real: Syncing<V>): Syncing<V> => ({
      ...real,
      operator: (told) => {
        let start = told
        return (states) =>
          states.pipe(
            concatMap((state) => of(state).pipe(real.operator(start))),
            map((played) => {
              start = played.after
              return played
            }),
          )
      },
    }),
  ],
  'keeps a state by reference': [
    'A9',
    <V>(real: Syncing<V>): Syncing<V> => ({ ...real, changedBehind: () => [] }),
  ],
  'gives its calls once': [
    'A10',
    syncs((played) => ({
      ...played,
      sync: withCalls(played.sync, (calls) => {
        const left = [...calls]
        return {
          *[Symbol.iterator]() {
            while (left.length > 0) yield left.shift()
          },
        }
      }),
    })),
  ],
}
