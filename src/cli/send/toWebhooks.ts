import type { DestinationOptions } from '../../destination/Destination.ts'
import type { Settings } from '../../destination/Settings.ts'
import { webhookDestination } from '../../destination/webhookDestination.ts'
import type { Call } from '../../event/Call.ts'
import { memoryOutbox } from '../../outbox/memoryOutbox.ts'
import type { OpenCarrier } from '../forward/Carrier.ts'

/** A webhook destination for a run. */
export interface ToWebhooks {
  readonly settings: Settings
  readonly destination: Omit<DestinationOptions, 'outbox' | 'tell' | 'maxCount' | 'maxBytes'>
  /** Accepted and not ended, at most: beyond it nothing is read. */
  readonly maxWaiting: number
  /** The same in bytes of body; default 268,435,456, that is 256 MiB (DE9). */
  readonly maxBytes?: number
}

const MOST_BYTES = 268_435_456

/** Carries events to webhooks. */
export const toWebhooks =
  ({
    settings,
    destination: options,
    maxWaiting: maxCount,
    maxBytes = MOST_BYTES,
  }: ToWebhooks): OpenCarrier =>
  (tell) => {
    const destination = webhookDestination(settings, {
      ...options,
      maxCount,
      maxBytes,
      // Dead events are reported and handed over, not kept.
      outbox: memoryOutbox({ maxCount, maxBytes, keepDead: 0 }),
      tell,
    })
    return {
      ready: destination.ready,
      // Whatever it is: `send` looks at it, and answers `Invalid` for what is no call.
      offer: (value) => destination.send(value as Call),
      idle: destination.idle,
      close: (timeout) => destination.close({ timeout }),
      totals: destination.stats,
      urls: () => destination.stats().urls,
    }
  }
