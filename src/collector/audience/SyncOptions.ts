import { ConfigError } from '../../outcome/ConfigError.ts'
import type { Fault } from '../../outcome/Refusal.ts'
import { traitNamesOf } from './traitNamesOf.ts'

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
