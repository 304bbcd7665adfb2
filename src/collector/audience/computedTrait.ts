import type { Observable } from 'rxjs'
import { copyJson } from '../../event/json/copyJson.ts'
import { inspection } from '../../event/json/Json.ts'
import { valuesOf } from './StateReading.ts'
import { syncing } from './Sync.ts'
import type { Sync } from './Sync.ts'
import { keeping, startOf } from './SyncOptions.ts'
import type { Intake, SyncOptions } from './SyncOptions.ts'

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
