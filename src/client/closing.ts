import type { Clock } from '../clock/Clock.ts'
import { closeRelay } from '../outbox/relay/closeRelay.ts'
import type { Relay } from '../outbox/relay/RelayContract.ts'
import type { MessageBatch } from './Message.ts'
import type { Endings } from './queue/endings.ts'
import type { Handover } from './queue/handover.ts'

/** What a close works with. */
export interface ClosingOptions {
  readonly relay: Relay<MessageBatch>
  readonly clock: Clock
  readonly onTheWay: Handover
  readonly ends: Endings
  /** Whether the outbox keeps what is in it beyond the close. */
  readonly isDurable: boolean
}

/** A store on disk may take its time, and fail. */
const handedOver = (onTheWay: Handover, clock: Clock, within: number): Promise<void> =>
  new Promise((resolve) => {
    const timeIsUp = clock.schedule(within, () => {
      unwatch()
      resolve()
    })
    const unwatch = onTheWay.whenEmpty(() => {
      timeIsUp()
      resolve()
    })
  })

/**
 * Brings everything to its end within so many milliseconds, and what then is in flight within `lastAttempt` more; the rest is handed back
 * (DE15). A batch that never came into the outbox is handed back too.
 */
export const closing =
  ({ relay, clock, onTheWay, ends, isDurable }: ClosingOptions) =>
  async (within: number, lastAttempt: number): Promise<void> => {
    const until = relay.now() + within
    if (!onTheWay.isEmpty()) await handedOver(onTheWay, clock, within)
    await closeRelay(relay, { clock, within: Math.max(0, until - relay.now()), lastAttempt })
    const left = onTheWay.giveUp()
    // What a store keeps beyond the close stays with it; of a store that never answered nobody knows, and it is handed back.
    ends.abandon(isDurable ? left : ends.live())
  }
