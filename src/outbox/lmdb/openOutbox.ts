/** The option `outbox` of a client, a destination and a collector. */
import { constVoid, left, right } from '../../core/either.ts'
import { isPromiseLike } from '../../core/awaitable.ts'
import { messageOf } from '../../core/failure.ts'
import { isRecord, kindOf } from '../../core/json.ts'
import { decodeOptions, option, type Option } from '../../core/options.ts'
import { ConfigError } from '../../core/refusal.ts'
import { inUse, isOutbox, type CorruptRecord, type Outbox, type OutboxFactory } from '../outbox.ts'
import type { OutboxFactoryOptions } from '../outbox.ts'
import { OutboxError, storedIn, type StoredIn } from './contract.ts'
import { lmdbOutbox } from './lmdbOutbox.ts'

export type OutboxOption<A> = Outbox<A> | OutboxFactory<A> | StoredIn

/** An outbox or a factory, whose item type cannot be checked, or a folder. */
export const outboxOption = <A>(): Option<OutboxOption<A>> =>
  option('an outbox', (value) => {
    // The type of its items is the caller's word.
    if (isOutbox(value) || typeof value === 'function') return right(value as OutboxOption<A>)
    return isRecord(value) && 'path' in value
      ? decodeOptions(storedIn, value)
      : left('must be an Outbox, a factory of one, or { path } of a folder')
  })

const isStoredIn = <A>(given: OutboxOption<A>): given is StoredIn =>
  typeof given !== 'function' && !('enqueue' in given)

/** The same option for a user with a name: a folder has its own owner, if it says so. */
export const ownedBy = <A>(owner: string, given: OutboxOption<A>): OutboxOption<A> => {
  if (typeof given === 'function') return (of) => given({ ...of, owner })
  return isStoredIn(given) ? { owner, ...given } : given
}

const wrong = (message: string, cause?: unknown): ConfigError =>
  Object.assign(new ConfigError('Invalid options', [{ path: 'outbox', message }]), { cause })

const outboxFrom = <A>(given: OutboxOption<A>, of: OutboxFactoryOptions<A>): Outbox<A> => {
  if (isStoredIn(given)) {
    const { keyOf: _, ...rest } = of
    return lmdbOutbox({ ...rest, ...given })
  }
  if (typeof given !== 'function') return given
  let made: unknown
  const onCorrupt = (record: CorruptRecord): void => {
    // The caller has no relay yet.
    if (made === undefined) throw new Error('it called onCorrupt before it answered')
    of.onCorrupt?.(record)
  }
  try {
    made = given({ ...of, onCorrupt })
  } catch (error) {
    if (error instanceof ConfigError || error instanceof OutboxError) throw error
    throw wrong(`was not made, because its factory threw: ${messageOf(error)}`, error)
  }
  // The type of its items is the factory's word.
  if (isOutbox(made)) return made as Outbox<A>
  if (!isPromiseLike(made))
    throw wrong(`was not made: its factory answered ${kindOf(made)}, and must answer an Outbox`)
  const closeLate = (late: unknown): unknown => (isOutbox(late) ? late.close() : undefined)
  void made.then(closeLate).then(constVoid, constVoid)
  throw wrong('was not made: its factory answered a promise, and must answer an Outbox, which may open later')
}

/**
 * Opens it for one part. Throws an OutboxError of a folder, a ConfigError if a factory threw or answered no
 * outbox, or if another part works on it.
 */
export const openOutbox = <A>(given: OutboxOption<A>, of: OutboxFactoryOptions<A>): Outbox<A> => {
  const outbox = outboxFrom(given, of)
  if (inUse.has(outbox)) throw wrong('is the outbox of another part: give each part one of its own')
  inUse.set(outbox, constVoid)
  return outbox
}
