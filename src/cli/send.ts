/**
 * What `send` was told, read into values.
 *
 * @module
 */

import { left, right } from 'fp-ts/lib/Either.js'
import type { Fault } from '../core/refusal.ts'
import { webhookDestination } from '../destination/createDestination.ts'
import type { DestinationOptions } from '../destination/destination.ts'
import { decodeSettings } from '../destination/settings.ts'
import type { Settings } from '../destination/settings.ts'
import type { Call } from '../event/call.ts'
import { OutboxError } from '../outbox/lmdb/contract.ts'
import { retryFor } from './forward.ts'
import type { OpenCarrier } from './forward.ts'
import { runErrand } from './runForward.ts'
import { kept } from './sendOutbox.ts'
import type { KeptIn } from './sendOutbox.ts'
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
  parseFile,
  parseHeaders,
  readSecret,
} from './values.ts'
import type { Output, Checked } from './values.ts'

const PLACE = /^webhooks\[(\d+)\](?:\.(\w+)(?:\.(.+))?)?$/

const sentenceOf = ({ path, message }: Fault, urls: number): string => {
  if (path === 'webhooks')
    return `--to may be given one to five times, not ${String(urls)} times: leave some URLs out`
  const [, at = '0', part, header] = PLACE.exec(path) ?? []
  const place = urls === 1 ? '--to' : `--to number ${String(Number(at) + 1)}`
  if (part === 'headers') return `--header ${header ?? ''} ${message}`.replaceAll(/ +/g, ' ')
  if (part === 'url') {
    // Other URLs are named as settings name them.
    const said = message.replace(
      /webhooks\[(\d+)\]\.url/,
      (_, other: string) => `--to number ${String(Number(other) + 1)}`,
    )
    return `${place} ${said}`
  }
  return path === '' ? message : `${path} ${message}`
}

/**
 * What is wrong with settings, in the words of the command line. All URLs have the same headers, so what is wrong with one is said
 * once.
 *
 * @param urls how many there are
 */
export const flagFaults = (faults: ReadonlyArray<Fault>, urls: number): ReadonlyArray<string> => [
  ...new Set(faults.map((fault) => sentenceOf(fault, urls))),
]

/** Flags as commander hands them over. */
export interface SendFlags {
  readonly to?: ReadonlyArray<string>
  readonly header?: ReadonlyArray<string>
  readonly secretEnv?: string
  readonly timeout: string
  readonly retryFor: string
  readonly concurrency: string
  readonly maxWaiting: string
  readonly grace: string
  readonly egress: string
  readonly dead?: string
  readonly outbox?: string
  readonly fromStart?: boolean
  readonly output: string
}

/** What `send` works with. Times are milliseconds. */
export interface SendOptions {
  readonly settings: Settings
  readonly timeout: number
  readonly retryFor: number
  readonly concurrency: number
  readonly maxWaiting: number
  readonly grace: number
  readonly egress: 'network' | 'public'
  readonly dead: string | undefined
  readonly outbox: string | undefined
  readonly fromStart: boolean
  readonly output: Output
}

const toUrls = (urls: ReadonlyArray<string>): Checked<ReadonlyArray<string>> =>
  urls.length === 0
    ? wrong('--to is missing: give one to five URLs, such as --to http://127.0.0.1:7412/hook')
    : right(urls)

const fromStart = ({ outbox, fromStart = false }: SendFlags): Checked<boolean> =>
  fromStart && outbox === undefined
    ? wrong(
        '--from-start has a meaning only with --outbox: without it, every input is read from its first line',
      )
    : right(fromStart)

type Environment = Readonly<Record<string, string | undefined>>

const parse = (flags: SendFlags, env: Environment) =>
  all({
    urls: toUrls(flags.to ?? []),
    headers: parseHeaders('--header', flags.header ?? []),
    secret: ifGiven(flags.secretEnv, (name) => readSecret('--secret-env', name, env)),
    timeout: parseDuration('--timeout', flags.timeout),
    retryFor: parseDuration('--retry-for', flags.retryFor, 0),
    concurrency: parseCount('--concurrency', flags.concurrency, 1, 1_000),
    maxWaiting: parseCount('--max-waiting', flags.maxWaiting, 1, 1_000_000),
    grace: parseDuration('--grace', flags.grace, 0),
    egress: parseChoice('--egress', flags.egress, ['network', 'public']),
    dead: ifGiven(flags.dead, (path) => parseFile('--dead', path)),
    outbox: ifGiven(flags.outbox, (path) => parseFile('--outbox', path)),
    fromStart: fromStart(flags),
    output: parseChoice('--output', flags.output, OUTPUTS),
  })

/** Reads the flags of `send`; everything that is wrong is told at once. */
export const sendOptions = (flags: SendFlags, env: Environment): Checked<SendOptions> => {
  const parsed = parse(flags, env)
  if (parsed._tag === 'Left') return parsed
  const { urls, headers, secret, ...rest } = parsed.right
  const settings = decodeSettings(
    {
      ...(secret === undefined ? {} : { sharedSecret: secret }),
      webhooks: urls.map((url) => ({ url, headers })),
    },
    rest.egress,
  )
  return settings._tag === 'Left'
    ? left(flagFaults(settings.left, urls.length))
    : right({ settings: settings.right, ...rest })
}

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
  (onEvent, reading) => {
    const bounds = { maxCount: maxWaiting, maxBytes }
    const store = kept(outbox, bounds, reading)
    const destination = webhookDestination(settings, { ...options, ...bounds, outbox: store.outbox, onEvent })
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

/** `headrace send`: forwards NDJSON events to one to five URLs. Answers the exit code. */
export const sendCommand = async (
  file: string | undefined,
  flags: SendFlags,
  terminal: Terminal,
): Promise<number> => {
  const options = sendOptions(flags, process.env)
  if (options._tag === 'Left') {
    for (const sentence of options.left) terminal.err.line(`headrace send: ${sentence}`)
    return USAGE
  }
  const { settings, timeout, concurrency, egress, maxWaiting, dead, grace, output } = options.right
  const path = options.right.outbox
  const outbox = path === undefined ? undefined : { path, fromStart: options.right.fromStart }
  const retry = retryFor(options.right.retryFor)
  const destination = { retry, timeout, concurrency, egress, logger: false } as const
  const open = toWebhooks({ settings, destination, maxWaiting, outbox })
  try {
    return await runErrand({ command: 'send', file, open, dead, outbox: path, grace, output }, terminal)
  } catch (error) {
    if (!(error instanceof OutboxError)) throw error
    terminal.err.line(`headrace send: --outbox: ${error.message}`)
    return USAGE
  }
}
