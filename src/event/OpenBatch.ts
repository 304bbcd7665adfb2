/**
 * A batch while it is being filled: what still goes in, when it is full, and what becomes of it. Decisions only; time is in
 * `batcher.ts`, streams are in `operators/batch.ts`.
 *
 * @module
 */
import type { BatchPayload, Closing, EventPayload, Frame, Signer } from './Payload.ts'

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
  closedBy: Closing,
): BatchPayload<A> =>
  signer === undefined
    ? { id, items, members, byteLength, frame, closedBy }
    : { id, items, members, byteLength, frame, closedBy, signer }
