/**
 * What is known of an item beside its body, as the JSON that is stored with it.
 *
 * @module
 */
import { retryable } from '../../../core/failure.ts'
import type { Failure } from '../../../core/failure.ts'
import type { Outcome, Progress } from '../../../core/outcome.ts'
import type { Entry } from '../../oldOutbox.ts'

/** Of an item that waits. */
export interface Tried {
  readonly firstAttemptAt?: number
  readonly progress?: Progress
}

/** An outcome without its item, which is the body of the record. */
type Bare<O> = O extends unknown ? Omit<O, 'item'> : never

/** Of an item that died. */
export interface Died extends Tried {
  /** The id that it had while it waited. */
  readonly id: string
  readonly at: number
  readonly outcome: Bare<Outcome<never>>
}

/** JSON has no infinity and no NaN, but a sink of your own may say that it may be tried again at either. */
const finite = (_key: string, value: unknown): unknown => {
  if (typeof value !== 'number' || Number.isFinite(value)) return value
  return Number.isNaN(value) ? undefined : Math.sign(value) * Number.MAX_VALUE
}

const UNWRITABLE: Failure = retryable('defect', { detail: 'what the failure said could not be written' })

const text = (value: Tried | Died, otherwise: () => Tried | Died): string => {
  try {
    return JSON.stringify(value, finite)
  } catch {
    // A failure is plain data by its type. One of a stranger that is not must not keep its item from ending.
    return JSON.stringify(otherwise(), finite)
  }
}

/** Of an entry that was put back to wait. */
export const triedToText = <A>({ firstAttemptAt, progress }: Entry<A>): string => {
  if (firstAttemptAt === undefined && progress === undefined) return ''
  const known = { ...(firstAttemptAt === undefined ? {} : { firstAttemptAt }) }
  return progress === undefined
    ? text(known, () => known)
    : text({ ...known, progress }, () => ({
        ...known,
        progress: { attempts: progress.attempts, lastFailure: UNWRITABLE },
      }))
}

/** Of an entry that died at `at`. */
export const diedToText = <A>(
  { id, firstAttemptAt, progress }: Entry<A>,
  outcome: Outcome<A>,
  at: number,
): string => {
  const { item: _, ...bare } = outcome
  const known = { id, at, ...(firstAttemptAt === undefined ? {} : { firstAttemptAt }) }
  // Leaving out a field that all outcomes have leaves each of them as it was, without it.
  const died = bare
  return text({ ...known, ...(progress === undefined ? {} : { progress }), outcome: died }, () => ({
    ...known,
    outcome: { _tag: 'Rejected', attempts: outcome.attempts, failure: UNWRITABLE },
  }))
}

const UNTRIED: Tried = {}

/** What `triedToText` wrote. Throws if it is no JSON. */
export const triedFromText = (about: string): Tried =>
  // The checksum of the record says that this is what was written.
  about === '' ? UNTRIED : (JSON.parse(about) as Tried)

/** What `diedToText` wrote. Throws if it is no JSON. */
export const diedFromText = (about: string): Died => JSON.parse(about) as Died
