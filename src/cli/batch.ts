import type { ClientCall } from '../client/client.ts'
import { createClient } from '../client/createClient.ts'
import { systemClock } from '../core/clock.ts'
import type { OptionsOf } from './flags.ts'
import { MAX_BYTES, forward, retryFor } from './forward.ts'
import type { Job } from './forward.ts'
import { openInput } from './input.ts'
import type { Terminal } from './terminal.ts'

/** `headrace batch`: sends NDJSON events in batches to an endpoint of the tracking convention. */
export const batchCommand = async (
  options: OptionsOf<'batch'>,
  terminal: Terminal,
  file: string,
): Promise<number> => {
  const { endpoint, headers, flushAt, flushAfter, timeout, concurrency, egress } = options
  const open: Job['open'] = (onEvent) => {
    const client = createClient(options.writeKey, {
      ...{ endpoint, headers, flushAt, flushAfter, timeout, concurrency, egress },
      maxCount: options.maxWaiting,
      maxBytes: MAX_BYTES,
      retry: retryFor(options.retryFor),
      logger: false,
      onEvent,
      // Unlike in a host, timers of the command keep the process alive, and the command ends by itself.
      clock: systemClock,
      drainOnExit: false,
    })
    // `send` checks whatever it gets, and answers `Invalid` for what is no call.
    return { ...client, offer: (value) => client.send(value as ClientCall), idle: client.flush }
  }
  const input = await openInput(file, terminal.host)
  return (await forward({ ...options, input, open }, terminal)).code
}
