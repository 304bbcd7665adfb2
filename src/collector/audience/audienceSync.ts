import type { Observable } from 'rxjs'
import { membership } from './StateReading.ts'
import { syncing } from './Sync.ts'
import type { Sync } from './Sync.ts'
import { keeping, startOf } from './SyncOptions.ts'
import type { Intake, SyncOptions } from './SyncOptions.ts'

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
