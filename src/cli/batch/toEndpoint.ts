import { createClient } from '../../client/createClient.ts'
import type { ClientCall } from '../../client/Client.ts'
import type { ClientOptions } from '../../client/ClientOptions.ts'
import { systemClock } from '../../clock/Clock.ts'
import type { OpenCarrier } from '../forward/Carrier.ts'

/** A batching client for a run. */
export interface ToEndpoint {
  readonly writeKey: string
  readonly client: Omit<ClientOptions, 'clock' | 'drainOnExit' | 'tell'>
}

/** Carries events to an endpoint of the tracking convention, in batches. */
export const toEndpoint =
  ({ writeKey, client: options }: ToEndpoint): OpenCarrier =>
  (tell, reading) => {
    const requests = { delivered: 0, failed: 0, passedOver: 0 }
    let endpoint: string | undefined
    const client = createClient(writeKey, {
      ...options,
      tell: (happening) => {
        if (happening._tag === 'Attempted') {
          endpoint = happening.sink
          requests[happening.result._tag === 'Right' ? 'delivered' : 'failed']++
        }
        if (happening._tag === 'Accepted') reading.offered(happening.item)
        tell(happening)
      },
      // A command waits for what it sends: its timers hold the process, and its end is its own.
      clock: systemClock,
      drainOnExit: false,
    })
    return {
      ready: client.ready,
      // Whatever it is: `send` looks at it, and answers `Invalid` for what is no call.
      offer: (value) => client.send(value as ClientCall),
      idle: client.flush,
      close: (timeout) => client.close({ timeout }),
      totals: client.stats,
      urls: () => (endpoint === undefined ? {} : { [endpoint]: requests }),
      durable: false,
      taken: () => undefined,
      finished: () => Promise.resolve(),
      stored: () => undefined,
    }
  }
