import type { StateReading, Users } from './StateReading.ts'

/** What is now the case for one user and was not before, or may not have been told. */
export interface Change<V> {
  readonly userId: string
  readonly value: V
}

/** After so many users a walk offers to step aside: some milliseconds. */
export const USERS_A_TURN = 10_000

const NOBODY: ReadonlySet<string> = new Set()

/**
 * Walks from one state to the next, and gives each change when it is asked for it: first for the users of the current state in its
 * order, then for those who are only in the previous one in its order, then for those in doubt who are in neither. Each user once.
 * In between comes an undefined now and then: a good moment to let others have a turn.
 */
export function* differences<S extends Users, V>(
  { valueIn, same }: StateReading<S, V>,
  previous: S,
  current: S,
  inDoubt: ReadonlySet<string> = NOBODY,
): Generator<Change<V> | undefined, void, undefined> {
  let looked = 0
  const differs = (userId: string): boolean =>
    inDoubt.has(userId) || !same(valueIn(previous, userId), valueIn(current, userId))

  for (const userId of current.keys()) {
    if (++looked % USERS_A_TURN === 0) yield undefined
    if (differs(userId)) yield { userId, value: valueIn(current, userId) }
  }
  for (const userId of previous.keys()) {
    if (++looked % USERS_A_TURN === 0) yield undefined
    if (!current.has(userId) && differs(userId)) yield { userId, value: valueIn(current, userId) }
  }
  for (const userId of inDoubt) {
    if (++looked % USERS_A_TURN === 0) yield undefined
    if (!current.has(userId) && !previous.has(userId)) yield { userId, value: valueIn(current, userId) }
  }
}
