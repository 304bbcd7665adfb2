/** Messages as senders write them: completed, encoded, routed and stored. */
import { isLeft, left, right, type Either } from '../core/either.ts'
import { isPromiseLike, type Awaitable } from '../core/awaitable.ts'
import { fullIn, closed, invalid, notStored, tooLarge } from '../core/refusal.ts'
import { isTurnOver, nextTurn } from '../core/clock.ts'
import { messageOf } from '../core/failure.ts'
import { isRecord, type Fields } from '../core/json.ts'
import type { Closed, Full, NotStored, Refusal } from '../core/refusal.ts'
import type { OpenDestination } from '../destination/createDestination.ts'
import { eventEncoder, type Encoded } from '../destination/record.ts'
import type { Event } from '../event/event.ts'
import { allows } from '../event/model.ts'
import * as Limits from '../event/limits.ts'
import type { EventPayload } from '../event/payload.ts'
import type { Defect, NotAccepted, UnknownKeys } from '../log/logEvent.ts'
import { batchOfOne, type IncomingBatch } from './requestBody.ts'
import type { CheckedCollectorOptions } from './settings.ts'

export interface Target {
  readonly name: string
  readonly destination: OpenDestination
  /** The settings do not have it any more. */
  readonly isGone: boolean
}

export interface Source {
  readonly id: string
  enabled: boolean
  deletions: boolean
  /** The destinations that are connected to it, in the order of the settings. */
  targets: ReadonlyArray<Target>
  received: number
  accepted: number
}

/** Why an event was not stored. The sender must send it again. */
type StorageFailure = Full | Closed | NotStored

/** An event with its position in the request, and its result. */
interface Routed {
  readonly index: number
  readonly payload: EventPayload<Event>
  readonly targets: ReadonlyArray<Target>
  /** The first failure to store it at a target. */
  failure: StorageFailure | undefined
}

/** The message's own keys over those of the batch. A value that is no object is left to the codec. */
const mergeInto = (defaults: Fields, own: unknown): unknown => {
  if (own === undefined || own === null) return defaults
  return isRecord(own) ? { ...defaults, ...own } : own
}

/** A message with the batch's fields, and its `originalTimestamp` in place of an absent `timestamp`. */
const withBatchFields = (message: unknown, { type, context, integrations }: IncomingBatch): unknown => {
  if (!isRecord(message)) return message
  const original = (message['timestamp'] ?? null) === null ? message['originalTimestamp'] : null
  const isOriginal = original !== undefined && original !== null
  if (type === undefined && context === undefined && integrations === undefined && !isOriginal) return message
  return {
    ...message,
    ...(type === undefined ? {} : { type }),
    ...(context === undefined ? {} : { context: mergeInto(context, message['context']) }),
    ...(integrations === undefined ? {} : { integrations: mergeInto(integrations, message['integrations']) }),
    ...(isOriginal ? { timestamp: original } : {}),
  }
}

/** A message without its null members, which SDKs write for absent ones. Undefined without a member. */
const withoutNulls = (message: unknown): unknown => {
  if (!isRecord(message)) return undefined
  const entries = Object.entries(message)
  const present = entries.filter(([, value]) => value !== null)
  return present.length < entries.length ? Object.fromEntries(present) : undefined
}

/** `budget` minus the JSON bytes of a value, or less: faster than writing it. Negative once it is used up. */
const remaining = (budget: number, value: unknown): number => {
  if (typeof value === 'string') return budget - 6 * value.length - 3
  if (typeof value !== 'object' || value === null) return budget - 26
  let rest = budget - 2
  // Arrays too. Not `Object.entries`: its arrays were a tenth of all garbage of a message (measured).
  for (const key in value) {
    // Every object can be read by its own keys.
    rest = remaining(rest - 6 * key.length - 3, (value as Fields)[key])
    if (rest < 0) return rest
  }
  return rest
}

/** Whether the data under a key of a message is written in the body of its event, as it is. */
const isInBody = (key: string, value: unknown, event: Event): boolean =>
  (key === 'properties' && 'properties' in event && event.properties === value) ||
  (key === 'context' && 'context' in event && event.context === value) ||
  (key === 'traits' && (event.type === 'identify' || event.type === 'group') && event.traits === value)

/** As `remaining`, of a message. The data that its payload holds is counted there. */
const remainingOf = (budget: number, message: unknown, { event, payload }: Encoded): number => {
  let rest = budget - payload.byteLength - 2
  for (const key in message as Fields) {
    // It became an event, so it is an object.
    const value = (message as Fields)[key]
    const own = rest - 6 * key.length - 3
    rest = isInBody(key, value, event) ? own : remaining(own, value)
    if (rest < 0) return rest
  }
  return rest
}

/** The JSON bytes of a message, or 0 if surely within `limit`. Undefined: nested too deeply to be written. */
const sizeOf = (message: unknown, encoded: Encoded, limit: number, { owned, size }: IncomingBatch) => {
  if (size <= limit) return 0
  try {
    if (owned && remainingOf(limit, message, encoded) >= 0) return 0
    return Buffer.byteLength(JSON.stringify(message))
  } catch (error) {
    // An unknown key that cannot be written is left out, and the rest has its own limit.
    return error instanceof RangeError ? undefined : 0
  }
}

const wrong = (message: unknown, path: string, what: string): Either<Refusal, never> =>
  left(invalid(message, [{ path, message: what }]))

const DELETE_ELSEWHERE = 'must not be delete here: post deletions to /v1/delete, or call requestDeletion'
const TOO_DEEP = `must not be nested much deeper than ${String(Limits.nesting)} levels, in any key`

/** Makes the payload of a message, once for all its targets, or answers why not. Never throws. */
const messageEncoder = (
  options: CheckedCollectorOptions,
  onUnknownKeys: (keys: ReadonlyArray<string>) => void,
  failedIn: (where: string) => (error: unknown) => void,
): ((message: unknown, batch: IncomingBatch) => Either<Refusal, Encoded>) => {
  const { maxMessageBytes } = options
  const encodeOwned = eventEncoder(options, onUnknownKeys, failedIn, true)
  const encodeCopy = eventEncoder(options, onUnknownKeys, failedIn)

  return (message, batch) => {
    try {
      const encode = batch.owned ? encodeOwned : encodeCopy
      let made = encode(withBatchFields(message, batch), batch.headers)
      if (isLeft(made)) {
        // Only here, because it is rare.
        const present = made.left._tag === 'Invalid' ? withoutNulls(message) : undefined
        if (present !== undefined) made = encode(withBatchFields(present, batch), batch.headers)
        if (isLeft(made)) return left({ ...made.left, input: message })
      }
      const { event } = made.right
      if (event.type === 'delete' && batch.type !== 'delete') return wrong(message, 'type', DELETE_ELSEWHERE)
      const size = sizeOf(message, made.right, maxMessageBytes, batch)
      if (size === undefined) return wrong(message, '', TOO_DEEP)
      return size > maxMessageBytes ? left(tooLarge(message, maxMessageBytes, size, event.messageId)) : made
    } catch {
      // A getter of a message from code may throw.
      return wrong(message, '', 'could not be read: give plain data')
    }
  }
}

/** The enabled targets that the event's integrations allow. A deletion goes to all that are enabled. */
const targetsOf = (targets: Source['targets'], event: Event): ReadonlyArray<Target> => {
  const integrations = event.type === 'delete' ? undefined : event.integrations
  return targets.filter(({ destination, name }) => destination.isEnabled() && allows(integrations, name))
}

/** Room at targets, in events and bytes. */
type Room = Map<Target, { readonly count: number; readonly bytes: number }>

/** Adds the room of an event at a target, or takes it away. */
const countRoom = (room: Room, target: Target, payload: EventPayload<Event>, sign: 1 | -1): void => {
  const { count, bytes } = room.get(target) ?? { count: 0, bytes: 0 }
  const size = target.destination.sizeOf(payload)
  if (count + sign === 0) room.delete(target)
  else room.set(target, { count: count + sign, bytes: bytes + sign * size })
}

/** The bound of the first target that has no room for the events that are on their way to it. */
const missingRoom = (reserved: Room): Full | undefined => {
  for (const [{ destination }, { count, bytes }] of reserved) {
    const held = destination.occupancy()
    const full = fullIn(undefined, held.waiting + count - 1, held.bytes + bytes, held)
    if (full !== undefined) return full
  }
  return undefined
}

/** Stores one event at one target. Memory answers at once: a promise for each took half as long again. */
const storeAt = (target: Target, routed: Routed, whenFull: CheckedCollectorOptions['whenFull']) => {
  const { destination, isGone } = target
  const { payload } = routed
  // An update removed the destination meanwhile. The sender repeats the request, which is routed anew.
  if (isGone) {
    routed.failure ??= closed(payload)
    return undefined
  }
  const failed = (error: unknown): void => void (routed.failure ??= notStored(payload, messageOf(error)))
  const settle = async (answer: Awaitable<Either<Full | Closed, unknown>>): Promise<void> => {
    let stored = await answer
    if (isLeft(stored) && stored.left._tag === 'Full' && whenFull === 'deadLetter')
      stored = (await destination.addDeadLetter?.(payload)) ?? stored
    if (isLeft(stored)) routed.failure ??= stored.left
  }
  try {
    const answer = destination.enqueue(payload)
    if (isPromiseLike(answer) || isLeft(answer)) return settle(answer).catch(failed)
  } catch (error) {
    failed(error)
  }
  return undefined
}

/** The clock is read before these messages only: each reading costs 50 ns. */
const isSixteenth = (index: number): boolean => index % 16 === 15

/** The collector adds the rest. */
type Unsigned<E> = Omit<E, 'at' | 'from'>

export type Ingester = ReturnType<typeof ingester>
export type Ingested = Awaited<ReturnType<Ingester['ingest']>>

/** Stores messages and deletions at the targets of their sources. Nothing here rejects. */
export const ingester = (
  options: CheckedCollectorOptions,
  isClosing: () => boolean,
  report: (event: Unsigned<UnknownKeys> | Unsigned<NotAccepted> | Unsigned<Defect>) => void,
) => {
  const { whenFull, clock } = options
  let lastTurn = Promise.resolve()
  /** A turn of the event loop for work that is too long for one. Each request has a turn of its own. */
  const turn = () => (lastTurn = lastTurn.then(() => new Promise<void>(nextTurn))).then(clock.monotonic)
  const failedIn = (where: string) => (error: unknown) => report({ _tag: 'Defect', where, error })
  const encode = messageEncoder(options, (keys) => report({ _tag: 'UnknownKeys', keys }), failedIn)
  const reasons = { Invalid: 0, TooLarge: 0, Full: 0, Disabled: 0, Closed: 0, NotStored: 0 }
  let unrouted = 0
  let deletions = 0

  const routedTo = (all: Source['targets'], index: number, { event, payload }: Encoded): Routed => {
    return { index, payload, targets: targetsOf(all, event), failure: undefined }
  }
  const refuse = (refusal: Refusal): Either<Refusal, never> => {
    report({ _tag: 'NotAccepted', refusal })
    return left(refusal)
  }
  /** Events on their way into a target. Only kept if a request may be refused for lack of room. */
  const reserved: Room = new Map()
  const countAll = (all: ReadonlyArray<Routed>, sign: 1 | -1): void => {
    for (const { payload, targets } of all) for (const one of targets) countRoom(reserved, one, payload, sign)
  }
  /** Stores each event at its targets, and notes the first failure of each. */
  const storeAll = async (all: ReadonlyArray<Routed>, known?: StorageFailure): Promise<void> => {
    const refusesWhole = whenFull === 'refuse'
    let failure = known
    if (failure === undefined && isClosing()) failure = closed(undefined)
    if (failure === undefined && refusesWhole) {
      countAll(all, 1)
      failure = missingRoom(reserved)
      if (failure !== undefined) countAll(all, -1)
    }
    const pending: Array<Promise<void>> = []
    let since = clock.monotonic()
    for (const [at, routed] of all.entries()) {
      if (isSixteenth(at) && isTurnOver(clock, since)) since = await turn()
      routed.failure = failure
      for (const target of failure === undefined ? routed.targets : []) {
        const stored = storeAt(target, routed, whenFull)
        if (stored !== undefined) pending.push(stored)
      }
      if (refusesWhole && failure === undefined) countAll([routed], -1)
    }
    if (pending.length > 0) await Promise.all(pending)
  }

  return {
    /** A turn that has time left, unless this one has. Bodies parsed side by side cost a fifth more. */
    begin: (): Promise<unknown> | undefined => (isTurnOver(clock) ? turn() : undefined),
    /** Takes the messages of a request, good ones beside bad. Resolves when the accepted ones are stored. */
    ingest: async (source: Source, batch: IncomingBatch) => {
      const { messages } = batch
      // Those of its start: an update may take the source away.
      const { targets } = source
      /** By position in the request. */
      const refused: Array<{ readonly index: number; readonly refusal: Refusal }> = []
      const routed: Routed[] = []
      /** The first failure to store a valid message. The sender must send all of them again. */
      let failure: StorageFailure | undefined
      let since = clock.monotonic()
      for (const [index, message] of messages.entries()) {
        if (isSixteenth(index) && isTurnOver(clock, since)) since = await turn()
        const encoded = encode(message, batch)
        if (!isLeft(encoded)) routed.push(routedTo(targets, index, encoded.right))
        else {
          const refusal = encoded.left
          if (refusal._tag === 'NotStored') failure ??= refusal
          refused.push({ index, refusal })
        }
      }
      await storeAll(routed, failure)
      for (const { index, targets: own, failure: why } of routed) {
        failure ??= why
        if (why !== undefined) refused.push({ index, refusal: { ...why, input: messages[index] } })
        else if (own.length === 0) unrouted++
      }
      for (const { refusal } of refused) {
        reasons[refusal._tag]++
        refuse(refusal)
      }
      source.received += messages.length
      source.accepted += messages.length - refused.length
      /** `id` is that of the last valid message. */
      return { refused, failure, id: routed.at(-1)?.payload.id }
    },
    /** Deletes the user of `call` at every target: one notification for each, with an id for each source. */
    deleteUser: async (sources: ReadonlyArray<Source>, call: unknown, headers?: IncomingBatch['headers']) => {
      const batch = { ...batchOfOne(call, 'delete'), ...(headers && { headers }) }
      const routed: Routed[] = []
      for (const source of sources) {
        const encoded = encode(call, batch)
        if (isLeft(encoded)) return refuse(encoded.left)
        routed.push(routedTo(source.targets, 0, encoded.right))
      }
      await storeAll(routed)
      const failure = routed.find((each) => each.failure !== undefined)?.failure
      if (failure !== undefined) return refuse({ ...failure, input: call })
      const notifications = routed.reduce((sum, { targets }) => sum + targets.length, 0)
      deletions += notifications
      return right({ notifications })
    },
    counts: () => ({ reasons: { ...reasons }, unrouted, deletions }),
  }
}
