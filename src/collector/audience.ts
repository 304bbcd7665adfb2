/** Audiences and computed traits: the calls for destinations when the state of an audience changes. */
import { isDeepStrictEqual } from 'node:util'
import { scan, type Observable } from 'rxjs'
import { isLeft, left, right, type Either } from '../core/either.ts'
import { ConfigError, unknownOption, type Fault } from '../core/refusal.ts'
import type { IdentifyCall } from '../event/model.ts'

/** A word begins with a letter or a digit. Marks stay with the letter before: many scripts' vowels. */
const WORDS = /[\p{L}\p{Nd}][\p{L}\p{Nd}\p{M}]*/gu
/** Between a lower-case and a capital letter, and before the last capital of a row before lower case. */
const HUMP = /(?=\p{CWL})(?<=\p{Ll}\p{M}*)|(?=\p{CWL}\p{M}*\p{Ll})(?<=\p{CWL}\p{M}*)/gu

/**
 * The trait name of an audience: its name in snake_case. The name is split at every character that is no
 * letter or digit, and where a capital begins a new word (`HTTPUsers` is `http_users`). Characters of any
 * script are kept.
 *
 * @returns undefined if the name has no letter and no digit.
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
  // Normalised again: a letter and its mark may have a common form in lower case only.
  return parts.join('_').toLowerCase().normalize('NFC')
}

const NAMELESS = 'must have a letter or a digit: the trait is named after it'

/**
 * The trait names of all audiences and computed traits that go to the same receivers, in order. A name
 * without a letter or digit is a fault, and so are two names that become the same trait. All faults are
 * listed, by position.
 */
export const traitNamesOf = (
  names: ReadonlyArray<string>,
): Either<ReadonlyArray<Fault>, ReadonlyArray<string>> => {
  const faults: Fault[] = []
  const traits = new Map<string, number>()
  names.forEach((name, index) => {
    const path = `[${String(index)}]`
    // Callers without types may pass anything.
    const trait = typeof (name as unknown) === 'string' ? traitNameOf(name) : undefined
    const first = traits.get(trait ?? '')
    if (trait === undefined) faults.push({ path, message: NAMELESS })
    else if (first === undefined) traits.set(trait, index)
    else faults.push({ path, message: `becomes the same trait as [${String(first)}]: rename one of them` })
  })
  return faults.length > 0 ? left(faults) : right([...traits.keys()])
}

/** The new value of one user. */
export interface Change<V> {
  readonly userId: string
  readonly value: V
}

/**
 * The users who joined an audience (`true`), in the order of `current`, then those who left it (`false`), in
 * that of `previous`.
 */
export const membershipChanges = (
  previous: ReadonlySet<string>,
  current: ReadonlySet<string>,
): ReadonlyArray<Change<boolean>> => {
  const changes: Array<Change<boolean>> = []
  for (const userId of current) if (!previous.has(userId)) changes.push({ userId, value: true })
  for (const userId of previous) if (!current.has(userId)) changes.push({ userId, value: false })
  return changes
}

/**
 * The users whose value of a computed trait changed, in the order of `current`, then those who are gone, in
 * the order of `previous`: their value is `null`. A null in a state means the same as no value. Values are
 * compared as data; the order of keys does not matter.
 */
export const traitChanges = <V>(
  previous: ReadonlyMap<string, V>,
  current: ReadonlyMap<string, V>,
): ReadonlyArray<Change<NonNullable<V> | null>> => {
  const changes: Array<Change<NonNullable<V> | null>> = []
  for (const [userId, given] of current) {
    const value = given ?? null
    if (!isDeepStrictEqual(previous.get(userId) ?? null, value)) changes.push({ userId, value })
  }
  for (const [userId, given] of previous)
    if ((given ?? null) !== null && !current.has(userId)) changes.push({ userId, value: null })
  return changes
}

/** An identify call that sets one trait of one user. */
export interface TraitCall<V> extends IdentifyCall {
  readonly userId: string
  readonly traits: Readonly<Record<string, V>>
}

/** The calls for one state, and the state to store. */
export interface Sync<S, V> {
  /** The name of the trait. */
  readonly trait: string
  /** One call for each user with a change. */
  readonly calls: ReadonlyArray<TraitCall<V>>
  /** The new state. Store it when all calls were accepted; it is `previous` of the next process. */
  readonly state: S
}

/** The name of an audience or a computed trait, and its last stored state. */
export interface SyncOptions<S> {
  /** Any text; the trait has its snake_case form (`traitNameOf`). */
  readonly name: string
  /** The state that was stored last. Default: empty, so every user of the first state is named. */
  readonly previous?: S
}

/** A string is iterable too, and is a mistake. */
const isIterable = (state: unknown) => typeof state === 'object' && state !== null && Symbol.iterator in state

const syncOperator = <I, S, V>(
  what: string,
  shape: string,
  { name, previous, ...rest }: Required<SyncOptions<I>>,
  copy: (state: I) => S,
  changes: (previous: S, current: S) => ReadonlyArray<Change<V>>,
) => {
  const named = traitNamesOf([name])
  const faults = isLeft(named) ? [{ path: 'name', message: NAMELESS }] : []
  if (!isIterable(previous)) faults.push({ path: 'previous', message: shape })
  for (const path of Object.keys(rest)) faults.push({ path, message: unknownOption(['name', 'previous']) })
  if (isLeft(named) || faults.length > 0) throw new ConfigError(what, faults)
  const trait = named.right.join()

  const next = (before: Sync<S, V>, given: I): Sync<S, V> => {
    if (!isIterable(given)) throw new TypeError(`${what}: a state ${shape}`)
    const state = copy(given)
    const calls = changes(before.state, state).map(({ userId, value }): TraitCall<V> => {
      return { type: 'identify', userId, traits: { [trait]: value } }
    })
    return { trait, calls, state }
  }
  return scan(next, { trait, calls: [], state: copy(previous) })
}

/** The user ids of an audience, in any order. Repeated ids count once. */
export type Members = Iterable<string> & object

/** One sync of an audience: `true` for users who joined, `false` for users who left. */
export type AudienceSync = Sync<ReadonlySet<string>, boolean>

/** Turns each state of an audience into a sync. @inline */
type AudienceOperator = (states: Observable<Members>) => Observable<AudienceSync>

/**
 * Turns successive states of an audience into identify calls: one for each user who joined (`true`) or left
 * (`false`) since the state before, none for the others. Without `previous` every member counts as having
 * joined.
 *
 * Store `state` when all calls were accepted. If the process stops earlier, the next one starts with the
 * older state and repeats calls. One case is missed: a call went out, and before the next start that user
 * returned to the stored value. If that matters, store `calls` before the first one is sent, and send them
 * again after a crash.
 *
 * Each state gives one sync, so drop states before this operator and never after it: use `concatMap`, not
 * `switchMap`. States are copied. A state that is not iterable is an error of the stream. Invalid ids are
 * refused where the calls are accepted.
 *
 * @throws ConfigError if the name has no letter and no digit, or `previous` is not iterable.
 *
 * @example
 * import { audienceSync } from 'headrace/collector'
 * import { concatMap, of } from 'rxjs'
 *
 * const stored = ['ann', 'bob']
 * const run = of(new Set(['bob', 'cid'])).pipe(
 *   audienceSync({ name: 'VIP Customers', previous: stored }),
 *   concatMap(async ({ calls, state }) => {
 *     // In a host: `await collector.accept('crm', call)`.
 *     for (const call of calls) console.log(call.userId, call.traits)
 *     console.log('store:', [...state])
 *   }),
 * )
 * run.subscribe()
 * // => cid { vip_customers: true }
 * // => ann { vip_customers: false }
 * // => store: [ 'bob', 'cid' ]
 */
export const audienceSync = (options: SyncOptions<Members>): AudienceOperator =>
  syncOperator(
    'audienceSync',
    'must be an iterable of user ids, such as a Set',
    { previous: [], ...options },
    (members): ReadonlySet<string> => new Set(members),
    membershipChanges,
  )

/**
 * An `audienceSync` for each of several audiences, after a check that their traits differ.
 *
 * @throws ConfigError that lists the audiences with names that are empty or collide.
 */
export const audienceSyncs = <const L extends ReadonlyArray<SyncOptions<Members>>>(
  audiences: L,
): { readonly [K in keyof L]: AudienceOperator } => {
  const traits = traitNamesOf(audiences.map(({ name }) => name))
  if (isLeft(traits)) {
    const faults = traits.left.map(({ path, message }) => ({ path: `${path}.name`, message }))
    throw new ConfigError('audienceSyncs', faults)
  }
  // `map` keeps the length and order of a tuple, which its type does not say.
  return audiences.map(audienceSync) as unknown as { readonly [K in keyof L]: AudienceOperator }
}

/** Users and their values, such as a Map. The last value of a repeated user counts. */
export type TraitValues<V> = Iterable<readonly [userId: string, value: V]>

/** One sync of a computed trait. */
export type TraitSync<V> = Sync<ReadonlyMap<string, V>, NonNullable<V> | null>

/** Turns each state of a computed trait into a sync. @inline */
type TraitOperator<V> = (states: Observable<TraitValues<V>>) => Observable<TraitSync<V>>

/**
 * Turns successive states of a computed trait into identify calls: one for each user whose value changed,
 * none for the others. A user who is no longer in the state gets `null`. Store states as with `audienceSync`.
 * Values are data: a function is an error of the stream.
 *
 *     states:  {a:1,b:2}  {b:2}    {b:3}
 *     calls:   a=1,b=2    a=null   b=3
 *
 * @throws ConfigError if the name has no letter and no digit, or `previous` is not iterable.
 */
export const computedTrait = <V>(options: SyncOptions<TraitValues<V>>): TraitOperator<V> =>
  syncOperator(
    'computedTrait',
    'must be an iterable of pairs of user id and value, such as a Map',
    { previous: [], ...options },
    (values): ReadonlyMap<string, V> => structuredClone(new Map(values)),
    traitChanges,
  )
