/**
 * One step from a state to the next, as what is to be said to the receivers and what is to be stored.
 *
 * @module
 */

import { defer, map } from 'rxjs'
import type { Observable } from 'rxjs'
import { ConfigError } from '../core/refusal.ts'
import type { Fault } from '../core/refusal.ts'
import type { IdentifyCall } from '../event/call.ts'
import { copyJson, inspection } from '../event/json.ts'
import { traitNamesOf, differences, paced, membership, valuesOf } from './audienceChanges.ts'
import type { Paced, StateReading, Users } from './audienceChanges.ts'

/** What an audience or a computed trait is called, and what was told of it before. */
export interface SyncOptions<S> {
  /** In the host's own words; the trait has its snake_case form (`traitNameOf`). */
  readonly name: string
  /** The stored state that the receivers know. Default: nobody was ever told, so all who are in the first state are named. */
  readonly previous?: S
  /** The stored users of a sync that may not have been finished (`Sync.before`). Default: none. */
  readonly inDoubt?: Iterable<string> & object
  /**
   * Whether nobody changes a state after handing it over. Then it is not copied, if it has the shape that is kept (a Set, a Map).
   * Default: false, it is copied at once.
   */
  readonly owned?: boolean
}

/** How the states of one kind are taken in. */
export interface Intake<I, S> {
  /** Which function was called, for its errors. */
  readonly what: string
  /** What a state must be, for people. */
  readonly shape: string
  /** The state as it is kept. May throw if it is none. */
  readonly keep: (state: I, owned: boolean) => S
  readonly none: S
}

/** What was told, and how it is called, once both are known to be right. */
export interface Start<S> {
  readonly trait: string
  readonly previous: S
  readonly inDoubt: ReadonlySet<string>
}

/** A text is iterable, letter by letter, which nobody means. */
const isIterable = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Symbol.iterator in value

/** Undefined if it cannot be read. What is thrown is not passed on: it may hold a value. */
const reading = <I, A>(state: I, keep: (state: I) => A): A | undefined => {
  if (!isIterable(state)) return undefined
  try {
    return keep(state)
  } catch {
    return undefined
  }
}

/** @throws ConfigError that names every fault. */
export const startOf = <I, S>(
  { what, shape, keep, none }: Intake<I, S>,
  { name, previous, inDoubt }: SyncOptions<I>,
): Start<S> => {
  const traits = traitNamesOf([name])
  const kept = previous === undefined ? none : reading(previous, (state) => keep(state, false))
  const doubts = reading(inDoubt ?? [], (users) => new Set(users))
  const faults: Fault[] =
    traits._tag === 'Left' ? traits.left.map((fault) => ({ ...fault, path: 'name' })) : []
  if (kept === undefined) faults.push({ path: 'previous', message: shape })
  if (doubts === undefined)
    faults.push({ path: 'inDoubt', message: 'must be an iterable of user ids, such as a Set' })
  if (traits._tag === 'Left' || kept === undefined || doubts === undefined)
    throw new ConfigError(what, faults)
  // One name gives one trait name.
  return { trait: traits.right.join(), previous: kept, inDoubt: doubts }
}

/** @throws TypeError if it is no state at all, or one that cannot be read: half a state would take the other half out. */
export const keeping =
  <I, S>({ what, shape, keep }: Intake<I, S>, owned: boolean) =>
  (state: I): S => {
    const kept = reading(state, (each) => keep(each, owned))
    if (kept === undefined) throw new TypeError(`${what}: a state ${shape}, and could not be read`)
    return kept
  }

/** An identify call that tells one trait of one user. */
export interface TraitCall<V> extends IdentifyCall {
  readonly userId: string
  readonly traits: Readonly<Record<string, V>>
}

/**
 * What the receivers were told, as far as the host knows: all that has to be stored between two syncs, and what the next process is given
 * as options.
 */
export interface Told<S> {
  /** The state that they know. */
  readonly previous: S
  /** Users about whom they may have been told something newer: an unfinished sync named them. */
  readonly inDoubt?: Iterable<string> & object
}

/** One sync: what to say, and what to store before and after it was said. */
export interface Sync<S, V> {
  /** The name of the trait. */
  readonly trait: string
  /** One for each user with a change, in an order that depends on the states only. Made when asked for; `for await` for large states. */
  readonly calls: Paced<TraitCall<V>>
  /**
   * Store this before the first call is given out, if a crash must not leave a receiver with what is no longer true: whom this sync names
   * is named again by the next one, whatever has changed meanwhile.
   */
  readonly before: Told<S> & { readonly inDoubt: Paced<string> }
  /** Store this when all calls were accepted. */
  readonly after: Told<S>
}

const syncOf = <S extends Users, V>(
  reading: StateReading<S, V>,
  { trait, previous, inDoubt }: Start<S>,
  current: S,
): Sync<S, V> => {
  const walk = (): ReturnType<typeof differences<S, V>> => differences(reading, previous, current, inDoubt)
  return {
    trait,
    calls: paced(walk, ({ userId, value }) => ({ type: 'identify', userId, traits: { [trait]: value } })),
    before: { previous, inDoubt: paced(walk, ({ userId }) => userId) },
    after: { previous: current },
  }
}

const NOBODY: ReadonlySet<string> = new Set()

/** The syncs of successive states. It keeps the last state and nothing more; each subscription starts with what was told. */
export const syncing =
  <S extends Users, V, I>(reading: StateReading<S, V>, start: Start<S>, keep: (state: I) => S) =>
  (states: Observable<I>): Observable<Sync<S, V>> =>
    defer(() => {
      let last = start
      return states.pipe(
        map((state) => {
          const sync = syncOf(reading, last, keep(state))
          last = { trait: start.trait, previous: sync.after.previous, inDoubt: NOBODY }
          return sync
        }),
      )
    })

/** The user ids of an audience, in any order. One that comes twice is one member. */
export type Members = Iterable<string> & object

/** One sync of an audience: who joined (true) and who left (false). */
export type AudienceSync = Sync<ReadonlySet<string>, boolean>

/** Each state of an audience becomes a sync. */
export type AudienceOperator = (states: Observable<Members>) => Observable<AudienceSync>

const intake: Intake<Members, ReadonlySet<string>> = {
  what: 'audienceSync',
  shape: 'must be an iterable of user ids, such as a Set',
  keep: (members, owned) => (owned && members instanceof Set ? members : new Set(members)),
  none: new Set(),
}

/**
 * Keeps the receivers in step with an audience (CO3): from its successive states to identify calls, one for each user who joined
 * (`true`) or left (`false`) since the state before, and none for the others. The trait has the snake_case form of the audience's
 * name. Without `previous` the audience is new, and everybody in the first state is named.
 *
 * Each state gives one sync, the same as many states in between would give in sum. So when states come faster than their calls
 * can be accepted, leave some out before this operator, and never after it: a sync that is not carried out (`switchMap`) is lost. Use
 * `concatMap`, as below.
 *
 * What a crash does depends on what is stored, and when:
 * - `after`, once all calls were accepted: nobody is forgotten, some may be told twice. But if the process ends in between, and
 *   somebody whom it named is by the next start what he was before, receivers keep what is no longer true: no difference to
 *   what was stored is left to be seen.
 * - `before`, before the first call is given out, and then `after`: this too is healed. Whom the unfinished sync named is named again as
 *   what he is now.
 * - nothing, or `after` too early: changes are lost.
 * The same holds for a sync of which not all calls were accepted: subscribe again with what is stored.
 *
 * Ids are checked where the calls go in, not here: an empty one is refused there, by its field. States are copied at once, a fraction
 * of a second for a million users, unless they are `owned`; the walk over them is done with the calls, as they are asked for. It keeps
 * one state, and while a sync is carried out that has two. A state that cannot be read is an error of the stream, before anything of it is said.
 *
 *     states:  {a,b}  {a,b}  {b,c}
 *     calls:   a,b    -      c, not a
 *
 * @throws ConfigError if the name has no letter and no digit, or what was stored is no list of users.
 *
 * @example
 * import { audienceSync } from 'headrace/collector'
 * import { concatMap, of } from 'rxjs'
 *
 * // What was stored last time; in JSON a list.
 * const stored = { previous: new Set(['ann', 'bob']) }
 * const states = of(new Set(['bob', 'cid']))
 *
 * const run = states.pipe(
 *   audienceSync({ name: 'VIP Customers', ...stored }),
 *   concatMap(async ({ calls, before, after }) => {
 *     console.log('store:', [...before.previous], 'in doubt:', [...before.inDoubt])
 *     // In a host: `await collector.accept('crm', call)`.
 *     for await (const call of calls) console.log(call.userId, call.traits)
 *     console.log('store:', [...after.previous])
 *   }),
 * )
 * run.subscribe()
 * // => store: [ 'ann', 'bob' ] in doubt: [ 'cid', 'ann' ]
 * // => cid { vip_customers: true }
 * // => ann { vip_customers: false }
 * // => store: [ 'bob', 'cid' ]
 */
export const audienceSync = (options: SyncOptions<Members>): AudienceOperator => {
  const start = startOf(intake, options)
  return syncing(membership, start, keeping(intake, options.owned ?? false))
}

/**
 * An `audienceSync` for each of several audiences, in their order, once it is sure that no two of them become the same trait (CO3). Each
 * is an operator of its own, so that every audience is computed, synced and stored in its own rhythm. Computed traits share the
 * names: ask `traitNamesOf` for all together.
 *
 * @throws ConfigError that names the audiences whose names are empty or collide.
 *
 * @example
 * import { audienceSyncs } from 'headrace/collector'
 * const [vip, trial] = audienceSyncs([{ name: 'VIP Customers' }, { name: 'Trial' }])
 * console.log(typeof vip, typeof trial) // => function function
 * try {
 *   audienceSyncs([{ name: 'New users' }, { name: 'newUsers' }])
 * } catch (error) {
 *   console.log(String(error))
 * }
 * // => ConfigError: audienceSyncs: [1].name becomes the same trait as [0]: rename one of them
 */
export const audienceSyncs = <const L extends ReadonlyArray<SyncOptions<Members>>>(
  audiences: L,
): { readonly [K in keyof L]: AudienceOperator } => {
  const traits = traitNamesOf(audiences.map(({ name }) => name))
  if (traits._tag === 'Left') {
    const faults = traits.left.map(({ path, message }) => ({ path: `${path}.name`, message }))
    throw new ConfigError('audienceSyncs', faults)
  }
  // `map` keeps the length and the places of a tuple, which its type does not say.
  return audiences.map(audienceSync) as unknown as { readonly [K in keyof L]: AudienceOperator }
}

/** Users and their values, such as a Map. Of a user who comes twice the last value counts. */
export type TraitValues<V> = Iterable<readonly [userId: string, value: V]>

/** One sync of a computed trait: whose value is another now. */
export type TraitSync<V> = Sync<ReadonlyMap<string, V>, NonNullable<V> | null>

/** Each state of a computed trait becomes a sync. */
export type TraitOperator<V> = (states: Observable<TraitValues<V>>) => Observable<TraitSync<V>>

/** What JSON cannot hold is kept as it is: its call is refused at the door, which names what is wrong. */
const copyOf = <V>(value: V): V => {
  const look = inspection()
  const copy = copyJson(value, '', undefined, 0, look)
  // A copy has the shape of what it was made of, as far as JSON has it; the call is checked where it goes in.
  return look.findings.length > 0 || copy === undefined ? value : (copy as V)
}

const copied = <V>(values: TraitValues<V>): ReadonlyMap<string, V> => {
  // Refuses what are no pairs, and keeps the last value of each user.
  const copies = new Map(values)
  for (const [userId, value] of copies) copies.set(userId, copyOf(value))
  return copies
}

const intakeOf = <V>(): Intake<TraitValues<V>, ReadonlyMap<string, V>> => ({
  what: 'computedTrait',
  shape: 'must be an iterable of pairs of user id and value, such as a Map',
  keep: (values, owned) => (owned && values instanceof Map ? values : copied(values)),
  none: new Map(),
})

/**
 * Keeps the receivers in step with a trait that the host computes for its users (CO3): from its successive states to identify calls, one
 * for each user whose value is another than in the state before, and none for the others. Values are compared as JSON data. A
 * user who is gone from the state has no value any more: the call says `null`, and so does a null in the state. All else is as
 * with `audienceSync`: one sync for each state, what to store and when, what a crash does, and what is copied.
 *
 *     states:  {a:1,b:2}  {b:2}    {b:3}
 *     calls:   a=1,b=2    a=null   b=3
 *
 * @throws ConfigError if the name has no letter and no digit, or what was stored is no list of pairs.
 *
 * @example
 * import { computedTrait } from 'headrace/collector'
 * import { concatMap, of } from 'rxjs'
 *
 * const states = of(new Map([['ann', 120], ['bob', 80]]))
 * const run = states.pipe(
 *   computedTrait({ name: 'Lifetime Value', previous: [['ann', 120], ['bob', 75], ['cid', 9]] }),
 *   concatMap(async ({ calls }) => {
 *     for await (const call of calls) console.log(call.userId, call.traits)
 *   }),
 * )
 * run.subscribe()
 * // => bob { lifetime_value: 80 }
 * // => cid { lifetime_value: null }
 */
export const computedTrait = <V>(options: SyncOptions<TraitValues<V>>): TraitOperator<V> => {
  const intake = intakeOf<V>()
  const start = startOf(intake, options)
  return syncing(valuesOf<V>(), start, keeping(intake, options.owned ?? false))
}
