/**
 * A batch while it is being filled: what still goes in, when it is full, and what becomes of it. Decisions only; time and
 * streams are in `operators/batch.ts`.
 *
 * @module
 */
import type { BatchPayload, Closing, EventPayload, Frame, Payload, Signer } from './Payload.ts'

/** How large a batch may become. */
export interface BatchLimits {
  readonly maxCount: number
  /** UTF-8 bytes of the whole body, envelope and commas included. */
  readonly maxBytes: number
  readonly frame: Frame
}

/** Has at least one member. */
export interface OpenBatch<A> {
  readonly members: Array<Payload<A>>
  /** The body's bytes so far, envelope and commas included. */
  byteLength: number
}

const COMMA = 1

/** The bytes that a payload adds to a body, without its comma. A batch that is batched again leaves its envelope behind. */
const sizeOf = (payload: Payload<unknown>): number => payload.byteLength - (payload.frame?.size ?? 0)

/** The bytes of the body if this were its only member. */
export const sizeAlone = (payload: Payload<unknown>, frame: Frame): number => frame.size + sizeOf(payload)

/** A batch with its first member. */
export const opened = <A>(first: Payload<A>, frame: Frame): OpenBatch<A> => ({
  members: [first],
  byteLength: sizeAlone(first, frame),
})

/** Whether one more goes in without breaking a limit. */
export const hasRoomFor = <A>(batch: OpenBatch<A>, payload: Payload<A>, limits: BatchLimits): boolean =>
  batch.members.length < limits.maxCount && batch.byteLength + COMMA + sizeOf(payload) <= limits.maxBytes

/** Puts one more in. The batch is its maker's own, so it is changed in place. */
export const put = <A>(batch: OpenBatch<A>, payload: Payload<A>): void => {
  batch.members.push(payload)
  batch.byteLength += COMMA + sizeOf(payload)
}

/** The limit that has been reached, so that nothing more could go in (BA4); the count comes first. */
export const fullBy = (batch: OpenBatch<unknown>, limits: BatchLimits): 'count' | 'bytes' | undefined => {
  if (batch.members.length >= limits.maxCount) return 'count'
  return batch.byteLength >= limits.maxBytes ? 'bytes' : undefined
}

/**
 * The batch as one payload. No text is joined and no member is serialised again. If its members were signed one by one, the
 * first one's signer signs the batch. A batch in it gives its members.
 */
export const closed = <A>(
  batch: OpenBatch<A>,
  frame: Frame,
  id: string,
  closedBy: Closing,
): BatchPayload<A> => {
  const items: A[] = []
  const members: Array<EventPayload<A>> = []
  let signer: Signer | undefined
  for (const payload of batch.members) {
    signer ??= payload.signer
    if (payload.members === undefined) members.push(payload)
    else members.push(...payload.members)
    for (const item of payload.items) items.push(item)
  }
  const { byteLength } = batch
  return signer === undefined
    ? { id, items, members, byteLength, frame, closedBy }
    : { id, items, members, byteLength, frame, closedBy, signer }
}
