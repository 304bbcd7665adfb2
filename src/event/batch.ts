/**
 * Gathers payloads into batches: which one still fits, when a batch is full, and when its delay is over.
 *
 * @module
 */

import type { Cancel, Clock } from '../core/clock.ts'
import { tooLarge } from '../core/refusal.ts'
import type { TooLarge } from '../core/refusal.ts'
import { frameBytes } from './payload.ts'
import type { BatchPayload, ClosedBy, EventPayload, Frame, Payload, Signer } from './payload.ts'

/** How batches are made. */
export interface BatcherSettings {
  readonly maxCount: number
  /** UTF-8 bytes of the whole body, envelope and commas included. */
  readonly maxBytes: number
  readonly frame: Frame
  /** Milliseconds; `Infinity` for none. */
  readonly maxDelay: number
  readonly delayFrom: 'firstItem' | 'lastFlush'
  /** When the first delay counts from, by the monotonic clock. Default: now. */
  readonly startedAt?: number
  readonly clock: Clock
  readonly newId: () => string
}

/** What a batcher calls. `batch` and `refuse` must not call back at once. */
export interface BatcherTarget<A> {
  readonly batch: (batch: BatchPayload<A>) => void
  /** A payload alone is larger than `maxBytes`. */
  readonly refuse: (refusal: TooLarge) => void
  /** The delay is over: the owner of the batcher closes the batch. */
  readonly due: () => void
}

/** Gathers payloads, one open batch at a time. */
export interface Batcher<A> {
  /** Adds a payload. The members of a batch are added one by one. */
  readonly offer: (payload: Payload<A>) => void
  /** Hands out the open batch, if there is one. */
  readonly close: (closedBy: ClosedBy) => void
  /** The members of the open batch. */
  readonly open: () => ReadonlyArray<EventPayload<A>>
  /** Stops the timer and takes out the members of the open batch. */
  readonly abandon: () => ReadonlyArray<EventPayload<A>>
}

interface OpenBatch<A> {
  readonly members: Array<EventPayload<A>>
  /** Kept along with the members: visiting all of them again at the end is slower (measured). */
  readonly items: A[]
  byteLength: number
  /** If the members are signed one by one, the first signer signs the batch. */
  signer: Signer | undefined
}

const COMMA = 1

/** A batcher. Its timer runs only while a batch is open. */
export const batcher = <A>(settings: BatcherSettings, target: BatcherTarget<A>): Batcher<A> => {
  const { clock, delayFrom, frame, maxBytes, maxCount, maxDelay, newId } = settings
  const envelopeBytes = frameBytes(frame)
  let open: OpenBatch<A> | undefined
  let cancelTimer: Cancel | undefined
  let lastFlush = settings.startedAt ?? clock.monotonic()

  const stopTimer = (): void => {
    cancelTimer?.()
    cancelTimer = undefined
  }

  const close = (closedBy: ClosedBy): void => {
    if (open === undefined) return
    const { items, members, byteLength, signer } = open
    open = undefined
    stopTimer()
    lastFlush = clock.monotonic()
    const batch = { id: newId(), items, members, byteLength, frame, closedBy }
    target.batch(signer === undefined ? batch : { ...batch, signer })
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

  const add = (payload: EventPayload<A>, signer: Signer | undefined): void => {
    const alone = envelopeBytes + payload.byteLength
    if (alone > maxBytes) {
      target.refuse(tooLarge(payload, maxBytes, alone, payload.id))
      return
    }
    if (open !== undefined && open.byteLength + COMMA + payload.byteLength > maxBytes) close('bytes')
    if (open === undefined)
      open = { members: [payload], items: [payload.items[0]], byteLength: alone, signer }
    else {
      open.members.push(payload)
      open.items.push(payload.items[0])
      open.byteLength += COMMA + payload.byteLength
      open.signer ??= signer
    }
    if (open.members.length >= maxCount) close('count')
    else if (open.byteLength >= maxBytes) close('bytes')
    else waitForMore()
  }

  return {
    offer: (payload) => {
      if (payload.members === undefined) add(payload, payload.signer)
      else for (const member of payload.members) add(member, member.signer ?? payload.signer)
    },
    close,
    open: () => open?.members ?? [],
    abandon: () => {
      const members = open?.members ?? []
      open = undefined
      stopTimer()
      return members
    },
  }
}
