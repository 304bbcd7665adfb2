import type { ClientCall } from '../client/client.ts'
import type { ClientOptions } from '../client/options.ts'
import { createClient } from '../client/createClient.ts'
import { systemClock } from '../core/clock.ts'
import { ConfigError } from '../core/refusal.ts'
import type { Fault } from '../core/refusal.ts'
import type { OpenTarget } from './forward.ts'
import type { BatchOptions } from './flags.ts'
import { UsageError } from './options.ts'
import { MAX_BYTES, retryFor, runForward } from './runForward.ts'
import type { Terminal } from './terminal.ts'

/** Sends batches to an endpoint of the tracking convention. @throws ConfigError */
export const toEndpoint =
  (writeKey: string, options: Omit<ClientOptions, 'clock' | 'drainOnExit' | 'onEvent'>): OpenTarget =>
  (onEvent) => {
    const requests = { delivered: 0, failed: 0, passedOver: 0 }
    let endpoint: string | undefined
    const client = createClient(writeKey, {
      ...options,
      onEvent: (event) => {
        if (event._tag === 'Attempted') {
          endpoint = event.sink
          requests[event.result._tag === 'Right' ? 'delivered' : 'failed']++
        }
        onEvent(event)
      },
      // Unlike in a host, timers of the command keep the process alive, and the command ends by itself.
      clock: systemClock,
      drainOnExit: false,
    })
    return {
      ready: client.ready,
      // `send` checks whatever it gets, and answers `Invalid` for what is no call.
      offer: (value) => client.send(value as ClientCall),
      idle: client.flush,
      close: (timeout) => client.close({ timeout }),
      totals: client.stats,
      urls: () => (endpoint === undefined ? {} : { [endpoint]: requests }),
    }
  }

const FLAGS: Readonly<Record<string, string>> = { endpoint: '--endpoint', writeKey: '--write-key-env' }

/** A fault of a client's options in the words of the flags. */
const sentenceOf = ({ path, message }: Fault): string => {
  const [option = '', ...rest] = path.split('.')
  if (option === 'headers') return `--header ${rest.join('.')} ${message}`.replaceAll(/ +/g, ' ')
  return `${FLAGS[option] ?? option} ${message}`.trim()
}

/** `headrace batch`: sends NDJSON events in batches. */
export const batchCommand = async (
  file: string | undefined,
  options: BatchOptions,
  terminal: Terminal,
): Promise<number> => {
  const { writeKey, maxWaiting: maxCount, retryFor: deadline, dead, grace, output, ...rest } = options
  const retry = retryFor(deadline)
  const open = toEndpoint(writeKey, { ...rest, maxCount, maxBytes: MAX_BYTES, retry, logger: false })
  try {
    return await runForward({ command: 'batch', file, open, dead, grace, output }, terminal)
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.faults.map(sentenceOf))
    throw error
  }
}
