/**
 * A batch while it is being filled: what still goes in, when it is full, and what becomes of it. Decisions only; time is in
 * `batcher.ts`, streams are in `operators/batch.ts`.
 *
 * @module
 */

import type { Cancel, Clock } from '../core/clock.ts'
import { tooLarge } from '../core/refusal.ts'
import type { TooLarge } from '../core/refusal.ts'
import type { BatchPayload, ClosedBy, EventPayload, Frame, Signer, Payload } from './payload.ts'

/** How large a batch may become. */
export interface BatchLimits {
  readonly maxCount: number
  /** UTF-8 bytes of the whole body, envelope and commas included. */
  readonly maxBytes: number
  readonly frame: Frame
}

/** Has at least one member. */
export interface OpenBatch<A> {
  readonly members: Array<EventPayload<A>>
  /** Taken along member by member: to visit all of them again at the end can be felt. */
  readonly items: A[]
  /** The body's bytes so far, envelope and commas included. */
  byteLength: number
  /** The first that a member came with. */
  signer: Signer | undefined
}

const COMMA = 1

/** The bytes of the body if this were its only member. */
export const sizeAlone = (payload: EventPayload<unknown>, frame: Frame): number =>
  frame.size + payload.byteLength

/** A batch with its first member. */
export const opened = <A>(first: EventPayload<A>, frame: Frame, signer?: Signer): OpenBatch<A> => ({
  members: [first],
  items: [first.items[0]],
  byteLength: sizeAlone(first, frame),
  signer,
})

/** Whether one more goes in without breaking a limit. */
export const hasRoomFor = <A>(batch: OpenBatch<A>, payload: EventPayload<A>, limits: BatchLimits): boolean =>
  batch.members.length < limits.maxCount && batch.byteLength + COMMA + payload.byteLength <= limits.maxBytes

/** Puts one more in. The batch is its maker's own, so it is changed in place. */
export const put = <A>(batch: OpenBatch<A>, payload: EventPayload<A>, signer?: Signer): void => {
  batch.members.push(payload)
  batch.items.push(payload.items[0])
  batch.byteLength += COMMA + payload.byteLength
  batch.signer ??= signer
}

/** The limit that has been reached, so that nothing more could go in (BA4); the count comes first. */
export const fullBy = (batch: OpenBatch<unknown>, limits: BatchLimits): 'count' | 'bytes' | undefined => {
  if (batch.members.length >= limits.maxCount) return 'count'
  return batch.byteLength >= limits.maxBytes ? 'bytes' : undefined
}

/**
 * The batch as one payload: nothing is joined, copied or serialised again. If its members were signed one by one, the first
 * one's signer signs the batch.
 */
export const closed = <A>(
  { items, members, byteLength, signer }: OpenBatch<A>,
  frame: Frame,
  id: string,
  closedBy: ClosedBy,
): BatchPayload<A> =>
  signer === undefined
    ? { id, items, members, byteLength, frame, closedBy }
    : { id, items, members, byteLength, frame, closedBy, signer }

/** Limits, and the time. */
export interface BatcherSettings extends BatchLimits {
  /** Milliseconds; `Infinity` for none. */
  readonly maxDelay: number
  readonly delayFrom: 'firstItem' | 'lastFlush'
  /** When the first delay counts from, by the monotonic clock; default now. */
  readonly firstAttemptAt?: number
  readonly clock: Clock
  readonly newId: () => string
}

/** Who is told what a batcher decided. `batch` and `refuse` must not call back before the decision is over. */
export interface BatcherTarget<A> {
  readonly batch: (batch: BatchPayload<A>) => void
  readonly refuse: (refusal: TooLarge) => void
  /** The delay is over: it is for whoever owns the batcher to close it. */
  readonly due: () => void
}

/** Gathers payloads, one open batch at a time. */
export interface Batcher<A> {
  /** A batch is taken apart: its members go in one by one. */
  readonly offer: (payload: Payload<A>) => void
  /** Sends off what is there; does nothing if that is nothing. */
  readonly close: (closedBy: ClosedBy) => void
  /** What is in the open batch. */
  readonly open: () => ReadonlyArray<EventPayload<A>>
  /** Stops the timer and hands out what is in the open batch. */
  readonly abandon: () => ReadonlyArray<EventPayload<A>>
}

const NONE: ReadonlyArray<never> = []

/**
 * The decisions of batching in time (BA1, BA3, BA4), without streams. The timer belongs to the open batch: it is armed by its
 * first member and gone when it closes, so there is one at most, and none while nothing waits.
 */
export const batcher = <A>(settings: BatcherSettings, target: BatcherTarget<A>): Batcher<A> => {
  const { clock, delayFrom, frame, maxBytes, maxDelay, newId } = settings
  let open: OpenBatch<A> | undefined
  let cancelTimer: Cancel | undefined
  let lastFlush = settings.firstAttemptAt ?? clock.monotonic()

  const stopTimer = (): void => {
    cancelTimer?.()
    cancelTimer = undefined
  }

  const close = (closedBy: ClosedBy): void => {
    if (open === undefined) return
    const batch = closed(open, frame, newId(), closedBy)
    open = undefined
    stopTimer()
    lastFlush = clock.monotonic()
    target.batch(batch)
  }

  const onTimer = (): void => {
    cancelTimer = undefined
    target.due()
  }

  const waitForMore = (): void => {
    if (cancelTimer !== undefined || maxDelay === Infinity) return
    const wait = delayFrom === 'firstItem' ? maxDelay : lastFlush + maxDelay - clock.monotonic()
    if (wait > 0) cancelTimer = clock.schedule(wait, onTimer)
    else close('delay')
  }

  const add = (payload: EventPayload<A>, signer: Signer | undefined): OpenBatch<A> => {
    if (open !== undefined && !hasRoomFor(open, payload, settings)) close('bytes')
    if (open === undefined) open = opened(payload, frame, signer)
    else put(open, payload, signer)
    return open
  }

  const offerOne = (payload: EventPayload<A>, signer: Signer | undefined): void => {
    const alone = sizeAlone(payload, frame)
    if (alone > maxBytes) {
      target.refuse(tooLarge(payload, maxBytes, alone, payload.id))
      return
    }
    const full = fullBy(add(payload, signer), settings)
    if (full === undefined) waitForMore()
    else close(full)
  }

  return {
    offer: (payload) => {
      if (payload.members === undefined) offerOne(payload, payload.signer)
      else for (const member of payload.members) offerOne(member, member.signer ?? payload.signer)
    },
    close,
    open: () => open?.members ?? NONE,
    abandon: () => {
      const members = open?.members ?? []
      open = undefined
      stopTimer()
      return members
    },
  }
}
