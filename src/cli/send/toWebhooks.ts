import type { DestinationOptions } from '../../destination/Destination.ts'
import type { Settings } from '../../destination/Settings.ts'
import { webhookDestination } from '../../destination/webhookDestination.ts'
import type { Call } from '../../event/Call.ts'
import type { OpenCarrier } from '../forward/Carrier.ts'
import { kept } from './kept.ts'
import type { KeptIn } from './kept.ts'

/** A webhook destination for a run. */
export interface ToWebhooks {
  readonly settings: Settings
  readonly destination: Omit<DestinationOptions, 'outbox' | 'tell' | 'maxCount' | 'maxBytes'>
  /** Accepted and not ended, at most: beyond it nothing is read. */
  readonly maxWaiting: number
  /** The same in bytes of body; default 268,435,456, that is 256 MiB (DE9). */
  readonly maxBytes?: number
  /** A folder in which events wait; default memory. */
  readonly outbox?: KeptIn | undefined
}

const MOST_BYTES = 268_435_456

/** Carries events to webhooks. @throws OutboxError when the folder cannot be opened. */
export const toWebhooks =
  ({ settings, destination: options, maxWaiting, maxBytes = MOST_BYTES, outbox }: ToWebhooks): OpenCarrier =>
  (tell, reading) => {
    const bounds = { maxCount: maxWaiting, maxBytes }
    const store = kept(outbox, bounds, reading)
    const destination = webhookDestination(settings, { ...options, ...bounds, outbox: store.outbox, tell })
    return {
      ready: destination.ready,
      // Whatever it is: `send` looks at it, and answers `Invalid` for what is no call.
      offer: (value) => destination.send(value as Call),
      idle: destination.idle,
      close: (timeout) => destination.close({ timeout }),
      totals: destination.stats,
      urls: () => destination.stats().urls,
      durable: store.outbox.durable,
      taken: store.taken,
      finished: store.finished,
      stored: store.stored,
    }
  }
