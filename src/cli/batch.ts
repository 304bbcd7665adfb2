/**
 * What `batch` was told, read into values.
 *
 * @module
 */

import type { ClientCall } from '../client/Client.ts'
import type { ClientOptions } from '../client/ClientOptions.ts'
import { createClient } from '../client/createClient.ts'
import { systemClock } from '../core/clock.ts'
import { ConfigError } from '../core/refusal.ts'
import type { Fault } from '../core/refusal.ts'
import { retryFor } from './forward.ts'
import type { OpenCarrier } from './forward.ts'
import { runErrand } from './runForward.ts'
import { USAGE } from './terminal.ts'
import type { Terminal } from './terminal.ts'
import {
  OUTPUTS,
  all,
  ifGiven,
  wrong,
  parseChoice,
  parseCount,
  parseDuration,
  parseHeaders,
  parseFile,
  readVariable,
} from './values.ts'
import type { Output, Checked } from './values.ts'

/** Flags as commander hands them over. */
export interface BatchFlags {
  readonly writeKeyEnv?: string
  readonly endpoint: string
  readonly header?: ReadonlyArray<string>
  readonly flushAt: string
  readonly flushAfter: string
  readonly timeout: string
  readonly retryFor: string
  readonly concurrency: string
  readonly maxWaiting: string
  readonly grace: string
  readonly egress: string
  readonly dead?: string
  readonly output: string
}

/** What `batch` works with. Times are milliseconds. */
export interface BatchOptions {
  readonly writeKey: string
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  readonly flushAt: number
  readonly flushAfter: number
  readonly timeout: number
  readonly retryFor: number
  readonly concurrency: number
  readonly maxWaiting: number
  readonly grace: number
  readonly egress: 'network' | 'public'
  readonly dead: string | undefined
  readonly output: Output
}

type Environment = Readonly<Record<string, string | undefined>>

const writeKey = (name: string | undefined, env: Environment): Checked<string> =>
  name === undefined
    ? wrong('--write-key-env is missing: name the variable of the environment that holds the write key')
    : readVariable('--write-key-env', name, env, 'the write key')

/** Reads the flags of `batch`; everything that is wrong is told at once. What an endpoint may be is for the client to say. */
export const batchOptions = (flags: BatchFlags, env: Environment): Checked<BatchOptions> =>
  all({
    writeKey: writeKey(flags.writeKeyEnv, env),
    endpoint: { _tag: 'Right', right: flags.endpoint },
    headers: parseHeaders('--header', flags.header ?? []),
    flushAt: parseCount('--flush-at', flags.flushAt, 1, 1_000_000),
    flushAfter: parseDuration('--flush-after', flags.flushAfter),
    timeout: parseDuration('--timeout', flags.timeout),
    retryFor: parseDuration('--retry-for', flags.retryFor, 0),
    concurrency: parseCount('--concurrency', flags.concurrency, 1, 1_000),
    maxWaiting: parseCount('--max-waiting', flags.maxWaiting, 1, 1_000_000),
    grace: parseDuration('--grace', flags.grace, 0),
    egress: parseChoice('--egress', flags.egress, ['network', 'public']),
    dead: ifGiven(flags.dead, (path) => parseFile('--dead', path)),
    output: parseChoice('--output', flags.output, OUTPUTS),
  })

/** A batching client for a run. */
export interface ToEndpoint {
  readonly writeKey: string
  readonly client: Omit<ClientOptions, 'clock' | 'drainOnExit' | 'tell'>
}

/** Carries events to an endpoint of the tracking convention, in batches. */
export const toEndpoint =
  ({ writeKey, client: options }: ToEndpoint): OpenCarrier =>
  (onEvent, reading) => {
    const requests = { delivered: 0, failed: 0, passedOver: 0 }
    let endpoint: string | undefined
    const client = createClient(writeKey, {
      ...options,
      onEvent: (happening) => {
        if (happening._tag === 'Attempted') {
          endpoint = happening.sink
          requests[happening.result._tag === 'Right' ? 'delivered' : 'failed']++
        }
        if (happening._tag === 'Accepted') reading.offered(happening.item)
        onEvent(happening)
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

/** Events in memory are bounded by their number; this is for very large ones (DE9). */
const MOST_BYTES = 268_435_456

const FLAGS: Readonly<Record<string, string>> = { endpoint: '--endpoint', writeKey: '--write-key-env' }

/** What is wrong with the options of a client, in the words of the command line. */
const sentenceOf = ({ path, message }: Fault): string => {
  const [option = '', ...within] = path.split('.')
  if (option === 'headers') return `--header ${within.join('.')} ${message}`.replaceAll(/ +/g, ' ')
  return `${FLAGS[option] ?? option} ${message}`.trim()
}

/** `headrace batch`: posts NDJSON events in batches to an endpoint of the tracking convention. Answers the exit code. */
export const batchCommand = async (file: string, flags: BatchFlags, terminal: Terminal): Promise<number> => {
  const complain = (sentences: ReadonlyArray<string>): number => {
    for (const sentence of sentences) terminal.err.line(`headrace batch: ${sentence}`)
    return USAGE
  }
  const options = batchOptions(flags, process.env)
  if (options._tag === 'Left') return complain(options.left)
  const { writeKey, maxWaiting, retryFor: deadline, dead, grace, output, ...given } = options.right
  const client = {
    ...given,
    maxCount: maxWaiting,
    maxBytes: MOST_BYTES,
    retry: retryFor(deadline),
    logger: false,
  } as const
  const open = toEndpoint({ writeKey, client })
  try {
    return await runErrand({ command: 'batch', file, open, dead, grace, output }, terminal)
  } catch (error) {
    // What an endpoint and a write key may be is for the client to say, before anything is read.
    if (error instanceof ConfigError) return complain(error.faults.map(sentenceOf))
    throw error
  }
}
