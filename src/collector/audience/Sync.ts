/**
 * One step from a state to the next, as what is to be said to the receivers and what is to be stored.
 *
 * @module
 */
import { defer, map } from 'rxjs'
import type { Observable } from 'rxjs'
import type { IdentifyCall } from '../../event/Call.ts'
import { differences } from './differences.ts'
import { paced } from './Paced.ts'
import type { Paced } from './Paced.ts'
import type { StateReading, Users } from './StateReading.ts'
import type { Start } from './SyncOptions.ts'

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
