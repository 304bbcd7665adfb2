/**
 * Where the events of a source go, and how they are stored there.
 *
 * @module
 */

import { isLeft } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { isPromiseLike, messageOf } from '../core/awaitable.ts'
import type { Awaitable } from '../core/awaitable.ts'
import { full, notStored } from '../core/refusal.ts'
import type { Closed, Full, NotStored } from '../core/refusal.ts'
import type { OpenDestination } from '../destination/createDestination.ts'
import type { Event } from '../event/event.ts'
import { allows } from '../event/kinds.ts'
import type { EventPayload } from '../event/payload.ts'
import type { CollectorOptions } from './collector.ts'

/** A destination of a collector. */
export interface Target {
  readonly name: string
  readonly destination: OpenDestination
}

/** A source of a collector. */
export interface Source {
  readonly id: string
  readonly enabled: boolean
  readonly deletions: boolean
  /** The destinations that are connected to it, in the order of the settings. */
  readonly targets: ReadonlyArray<Target>
  received: number
  accepted: number
}

/** The enabled targets that the event's integrations allow. A deletion has no integrations and goes to all that are enabled. */
export const route = <
  T extends { readonly name: string; readonly destination: Pick<OpenDestination, 'isEnabled'> },
>(
  connected: ReadonlyArray<T>,
  event: Event,
): ReadonlyArray<T> => {
  const integrations = event.type === 'delete' ? undefined : event.integrations
  return connected.filter(({ destination, name }) => destination.isEnabled() && allows(integrations, name))
}

/** Why an event was not stored. The sender must send it again. */
export type StorageFailure = Full | Closed | NotStored

/** An event and its targets. */
export interface Routed {
  readonly payload: EventPayload<Event>
  readonly targets: ReadonlyArray<Target>
}

/** What happens when a destination is full. */
export type WhenFull = NonNullable<CollectorOptions['whenFull']>

/** The bound of the first target that has no room for all of its events. */
const missingRoom = (all: ReadonlyArray<Routed>): Full | undefined => {
  for (const target of new Set(all.flatMap(({ targets }) => targets))) {
    const { waiting, bytes, maxCount, maxBytes } = target.destination.occupancy()
    const own = all.filter(({ targets }) => targets.includes(target))
    if (waiting + own.length > maxCount) return full(undefined, 'count', maxCount)
    const more = own.reduce((sum, { payload }) => sum + payload.byteLength, 0)
    if (bytes + more > maxBytes) return full(undefined, 'bytes', maxBytes)
  }
  return undefined
}

const settled = async (
  { destination }: Target,
  payload: EventPayload<Event>,
  whenFull: WhenFull,
  answer: Awaitable<Either<Full | Closed, unknown>>,
): Promise<StorageFailure | undefined> => {
  try {
    const entry = await answer
    if (!isLeft(entry)) return undefined
    if (entry.left._tag === 'Closed' || whenFull === 'refuse') return entry.left
    const added = await destination.addDeadLetter(payload)
    return isLeft(added) ? added.left : undefined
  } catch (error) {
    return notStored(payload, messageOf(error))
  }
}

const storeAt = (
  target: Target,
  payload: EventPayload<Event>,
  whenFull: WhenFull,
): Awaitable<StorageFailure | undefined> => {
  try {
    const answer = target.destination.enqueue(payload)
    // In memory the answer is here at once, and needs no promise.
    if (!isPromiseLike(answer) && !isLeft(answer)) return undefined
    return settled(target, payload, whenFull, answer)
  } catch (error) {
    return notStored(payload, messageOf(error))
  }
}

/** Stores each event at its targets. Answers the first failure of each event, in order. Never rejects. */
export const store = async (
  all: ReadonlyArray<Routed>,
  whenFull: WhenFull,
): Promise<ReadonlyArray<StorageFailure | undefined>> => {
  const missing = whenFull === 'refuse' ? missingRoom(all) : undefined
  const failures: Array<StorageFailure | undefined> = all.map(() => missing)
  if (missing !== undefined) return failures
  const pending: Array<PromiseLike<void>> = []
  all.forEach(({ payload, targets }, at) => {
    for (const target of targets) {
      const failure = storeAt(target, payload, whenFull)
      if (isPromiseLike(failure)) pending.push(failure.then((late) => void (failures[at] ??= late)))
      else failures[at] ??= failure
    }
  })
  if (pending.length > 0) await Promise.all(pending)
  return failures
}
