import type { Cancel, Clock } from '../clock/Clock.ts'
import type { TooLarge } from '../outcome/Refusal.ts'
import { tooLarge } from '../outcome/Refusal.ts'
import type { BatchLimits, OpenBatch } from './OpenBatch.ts'
import { closed, fullBy, hasRoomFor, opened, put, sizeAlone } from './OpenBatch.ts'
import type { BatchPayload, Closing, EventPayload, Payload, Signer } from './Payload.ts'

/** Limits, and the time. */
export interface BatcherSettings extends BatchLimits {
  /** Milliseconds; `Infinity` for none. */
  readonly maxDelay: number
  readonly delayFrom: 'firstItem' | 'lastFlush'
  /** When the first delay counts from, by the monotonic clock; default now. */
  readonly since?: number
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
  readonly close: (closedBy: Closing) => void
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
  let lastFlush = settings.since ?? clock.monotonic()

  const stopTimer = (): void => {
    cancelTimer?.()
    cancelTimer = undefined
  }

  const close = (closedBy: Closing): void => {
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
