import { sameJson } from './sameJson.ts'

/** What a set of user ids and a map from them have in common. */
export interface Users {
  readonly has: (userId: string) => boolean
  readonly keys: () => Iterable<string>
}

/** How a state is read. */
export interface StateReading<S, V> {
  /** What a state says of a user, also of one whom it does not hold. */
  readonly valueIn: (state: S, userId: string) => V
  readonly same: (a: V, b: V) => boolean
}

/** Members are told apart from all others by being in the set. */
export const membership: StateReading<ReadonlySet<string>, boolean> = {
  valueIn: (members, userId) => members.has(userId),
  same: (a, b) => a === b,
}

/** Somebody whom the map does not hold has no value, which is null: JSON knows no other word for it. */
export const valuesOf = <V>(): StateReading<ReadonlyMap<string, V>, NonNullable<V> | null> => ({
  valueIn: (values, userId) => values.get(userId) ?? null,
  same: sameJson,
})
