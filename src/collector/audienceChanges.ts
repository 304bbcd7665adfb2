import * as Limits from '../event/limits.ts'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { nextTurn } from '../core/clock.ts'
import type { Fault } from '../core/refusal.ts'

/** A word begins with a letter or a digit; marks belong to the letter before them, without them many scripts lose their vowels. */
const WORDS = /[\p{L}\p{Nd}][\p{L}\p{Nd}\p{M}]*/gu
/** Between a lower-case letter, marks included, and one that has a lower-case form. */
const HUMP = /(?<=\p{Ll}\p{M}*)(?=\p{CWL})/gu

/**
 * The trait that an audience of this name goes out as (CO3): its snake_case form. The name is split at everything that is no letter
 * or digit, and between a lower-case letter and an upper-case one; the parts are lower-cased and joined by `_`. Letters of
 * any script are kept, and two spellings of one letter in Unicode are one. The name of a trait is its own trait name.
 *
 * @returns undefined if the name holds no letter and no digit
 *
 * @example
 * import { traitNameOf } from 'headrace/collector'
 * console.log(traitNameOf('VIP Customers (EU)')) // => vip_customers_eu
 * console.log(traitNameOf('lastSeen')) // => last_seen
 * console.log(traitNameOf('!?')) // => undefined
 */
export const traitNameOf = (name: string): string | undefined => {
  const words = name.normalize('NFC').match(WORDS)
  if (words === null) return undefined
  const parts = words.flatMap((word) => word.split(HUMP))
  // Again, for a letter and its mark may be one letter in lower case only.
  return parts.join('_').toLowerCase().normalize('NFC')
}

const NAMELESS = 'must hold a letter or a digit: the trait is named after it'

/**
 * The trait names of all audiences and computed traits that go to the same receivers, in their order (CO3). Two names that become one
 * trait would overwrite each other, so that is a fault, as is a name of which nothing is left. Every fault is named at once, by
 * its position.
 *
 * @example
 * import { traitNamesOf } from 'headrace/collector'
 * console.log(traitNamesOf(['VIP Customers', 'Trial']))
 * // => { _tag: 'Right', right: [ 'vip_customers', 'trial' ] }
 * const colliding = traitNamesOf(['VIP', 'vip!'])
 * if (colliding._tag === 'Left') for (const { path, message } of colliding.left) console.log(path, message)
 * // => [1] becomes the same trait as [0]: rename one of them
 */
export const traitNamesOf = (
  names: ReadonlyArray<string>,
): Either<ReadonlyArray<Fault>, ReadonlyArray<string>> => {
  const faults: Fault[] = []
  const traits = new Map<string, number>()
  names.forEach((name, index) => {
    const path = `[${String(index)}]`
    // The type says so; a host without types may bring anything.
    const trait = typeof (name as unknown) === 'string' ? traitNameOf(name) : undefined
    const first = trait === undefined ? undefined : traits.get(trait)
    if (trait === undefined) faults.push({ path, message: NAMELESS })
    else if (first === undefined) traits.set(trait, index)
    else faults.push({ path, message: `becomes the same trait as [${String(first)}]: rename one of them` })
  })
  return faults.length > 0 ? left(faults) : right([...traits.keys()])
}

/** How many members may still be looked at. What was not copied may contain itself. */
interface Budget {
  left: number
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

const sameMembers = (a: object, b: object, depth: number, budget: Budget): boolean => {
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(a)
  budget.left -= keys.length
  if (budget.left < 0 || keys.length !== Object.keys(b).length) return false
  return keys.every(
    (key) =>
      Object.hasOwn(b, key) &&
      // Sound for every object: it is read by a key of its own, and what stands there stays unknown.
      same((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key], depth + 1, budget),
  )
}

const isData = (value: object): boolean =>
  Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype

const same = (a: unknown, b: unknown, depth: number, budget: Budget): boolean => {
  if (a === b || Object.is(a, b)) return true
  if (!isObject(a) || !isObject(b) || depth >= Limits.nesting) return false
  return isData(a) && isData(b) && sameMembers(a, b, depth, budget)
}

/**
 * Whether two values are the same as JSON data: the order of an object's keys means nothing, that of an array's members does. What is
 * no plain data is the same as itself only.
 */
export const sameJson = (a: unknown, b: unknown): boolean => {
  try {
    return same(a, b, 0, { left: Limits.values })
  } catch {
    // A getter that throws; who cannot be read cannot be known to be the same.
    return false
  }
}

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

/**
 * Values that are made one at a time, when they are asked for, and can be gone through any number of times. `for await` lets other work
 * of the process have its turn now and then, however many there are; `for` goes straight through.
 */
export interface Paced<A> extends Iterable<A>, AsyncIterable<A> {}

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    nextTurn(resolve)
  })

/** Of a walk that says undefined where others may have a turn. */
export const paced = <A extends object, B>(
  walk: () => Iterable<A | undefined>,
  toValue: (step: A) => B,
): Paced<B> => ({
  *[Symbol.iterator]() {
    for (const step of walk()) if (step !== undefined) yield toValue(step)
  },
  async *[Symbol.asyncIterator]() {
    for (const step of walk()) {
      if (step === undefined) await turn()
      else yield toValue(step)
    }
  },
})

/**
 * Who joined an audience (true) and who left it (false) between two states: the pure step that `audienceSync` obeys (CO3). None for users
 * who stayed what they were, unless they are in doubt: those are named as what they are now. Applied to the previous
 * state the changes give the current one, and going over any states in between has the same sum.
 *
 * Order: joined, in the order of the current state; left, in the order of the previous one; in doubt and in neither.
 *
 * @example
 * import { membershipChanges } from 'headrace/collector'
 * for (const { userId, value } of membershipChanges(new Set(['ann', 'bob']), new Set(['bob', 'cid'])))
 *   console.log(userId, value)
 * // => cid true
 * // => ann false
 */
export const membershipChanges = (
  previous: ReadonlySet<string>,
  current: ReadonlySet<string>,
  inDoubt?: ReadonlySet<string>,
): Paced<Change<boolean>> =>
  paced(
    () => differences(membership, previous, current, inDoubt),
    (change) => change,
  )

/**
 * Whose value of a computed trait changed between two states, and to what: the pure step that `computedTrait` obeys (CO3). Values are
 * compared as JSON data, whatever the order of their keys. A user who is gone has no value any more, which is null; a null in a state
 * means the same, so it is no change for somebody new. Users in doubt are named as what they have now.
 *
 * Order: users of the current state in its order; gone, in the order of the previous one; in doubt and in neither.
 *
 * @example
 * import { traitChanges } from 'headrace/collector'
 * const before = new Map([['ann', 3], ['bob', 5]])
 * const now = new Map([['bob', 5], ['cid', 1]])
 * for (const { userId, value } of traitChanges(before, now)) console.log(userId, value)
 * // => cid 1
 * // => ann null
 */
export const traitChanges = <V>(
  previous: ReadonlyMap<string, V>,
  current: ReadonlyMap<string, V>,
  inDoubt?: ReadonlySet<string>,
): Paced<Change<NonNullable<V> | null>> =>
  paced(
    () => differences(valuesOf<V>(), previous, current, inDoubt),
    (change) => change,
  )
