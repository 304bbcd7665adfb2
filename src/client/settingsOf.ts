import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { backgroundClock, systemRandom } from '../core/clock.ts'
import { eventReader } from '../event/event.ts'
import * as Limits from '../event/limits.ts'
import { frameBytes } from '../event/payload.ts'
import { trackingFrame } from '../event/trackingMessage.ts'
import type { Fault } from '../core/refusal.ts'
import { standard } from '../policy/retryPolicy.ts'
import type { IngestionSettings } from '../http/ingestion.ts'
import { ingestionFaults } from '../http/ingestion.ts'
import type { ClientOptions, Overflow } from './ClientOptions.ts'
import type { Defaults } from './encoderOf.ts'
import { optionChecks } from './OptionChecks.ts'

/** The options of a client, checked, each with its default where none was given. */
export interface ClientSettings
  extends
    Required<
      Pick<
        ClientOptions,
        | 'flushAfter'
        | 'maxMessage'
        | 'maxBatch'
        | 'maxCount'
        | 'maxBytes'
        | 'concurrency'
        | 'timeout'
        | 'retry'
        | 'enabled'
        | 'clock'
        | 'random'
      >
    >,
    Pick<ClientOptions, 'key' | 'outbox' | 'newId' | 'logger' | 'onEvent' | 'waitUntil'> {
  readonly size: number
  readonly overflow: Overflow
  readonly defaults: Defaults
  /** Milliseconds for the drain at the end of the program; undefined for none. */
  readonly drainWithin: number | undefined
  /** Whether the clock is the machine's, and not the host's. */
  readonly ownsClock: boolean
}

type Faults = ReadonlyArray<Fault>

const DEFAULT_ENDPOINT = 'http://127.0.0.1:7410/v1/batch'
const DRAIN_WITHIN = 10_000
const own = (options: Readonly<Record<string, unknown>>): Faults =>
  Object.entries(optionChecks).flatMap(([path, check]) => {
    const value = options[path]
    const message = value === undefined ? undefined : check(value)
    return message === undefined ? [] : [{ path, message }]
  })

const unknownKeys = (options: object): Faults =>
  Object.keys(options)
    .filter((key) => !Object.hasOwn(optionChecks, key))
    .map((path) => ({ path, message: 'is no option of a client' }))

/** Where the requests go and as whom: what the sink of the endpoint says of it. With a sink of the host's only the key is asked for. */
const requests = (writeKey: unknown, options: ClientOptions): Faults => {
  const { endpoint = DEFAULT_ENDPOINT, egress, tls, headers } = options
  const given = { endpoint, writeKey, egress, tls, headers }
  const faults = ingestionFaults(
    Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  )
  return options.sink === undefined ? faults : faults.filter(({ path }) => path === 'writeKey')
}

const readDefaults = eventReader()

/** The defaults are copied, and held to the rules of a screen, which are those of all kinds and more (EV3, EV9, EV10). */
const defaultsOf = ({ context, integrations }: ClientOptions): Either<Faults, Defaults> => {
  const found = readDefaults(
    {
      type: 'screen',
      userId: 'anybody',
      ...(context === undefined ? {} : { context }),
      ...(integrations === undefined ? {} : { integrations }),
    },
    undefined,
  )
  if (isLeft(found)) return left(found.left)
  // It was read as a screen, which has both.
  if (found.right.type === 'delete') return right({ context: undefined, integrations: undefined })
  return right({
    context: context === undefined ? undefined : found.right.context,
    integrations: found.right.integrations,
  })
}

/** What each number by itself does not show (clients/21). */
const together = ({ maxMessage, maxBatch, maxBytes, overflow, outbox }: ClientOptions): Faults => {
  const faults: Fault[] = []
  const most = maxMessage ?? Limits.callBytes
  if (most + frameBytes(trackingFrame) > (maxBatch ?? Limits.batchBytes))
    faults.push({
      path: 'maxMessage',
      message: `must leave room for the ${String(frameBytes(trackingFrame))} bytes of the envelope in maxBatch`,
    })
  if (most > (maxBytes ?? MAX_BYTES))
    faults.push({ path: 'maxBytes', message: 'must have room for one message of maxMessage' })
  if (overflow === 'dropOldest' && outbox !== undefined)
    faults.push({ path: 'overflow', message: 'dropOldest needs the client’s own memory, and no outbox' })
  return faults
}

const MAX_BYTES = 33_554_432

const drainWithinOf = (drainOnExit: boolean | number): number | undefined => {
  if (typeof drainOnExit === 'number') return drainOnExit
  return drainOnExit ? DRAIN_WITHIN : undefined
}

const completed = (options: ClientOptions, defaults: Defaults): ClientSettings => {
  const { key, outbox, newId, logger, onEvent, waitUntil, clock } = options
  return {
    size: Math.min(options.size ?? options.flushAt ?? 20, options.flushAt ?? options.size ?? 20),
    flushAfter: options.flushAfter ?? 5_000,
    maxMessage: options.maxMessage ?? Limits.callBytes,
    maxBatch: options.maxBatch ?? Limits.batchBytes,
    maxCount: options.maxCount ?? 10_000,
    maxBytes: options.maxBytes ?? MAX_BYTES,
    overflow: options.overflow ?? 'error',
    concurrency: options.concurrency ?? 1,
    timeout: options.timeout ?? 10_000,
    retry: options.retry ?? standard,
    enabled: options.enabled ?? true,
    clock: clock ?? backgroundClock,
    random: options.random ?? systemRandom,
    ownsClock: clock === undefined,
    drainWithin: drainWithinOf(options.drainOnExit ?? true),
    defaults,
    ...(key && { key }),
    ...(outbox && { outbox }),
    ...(newId && { newId }),
    ...(logger === undefined ? {} : { logger }),
    ...(onEvent && { onEvent }),
    ...(waitUntil && { waitUntil }),
  }
}

/** What is needed for the requests, and the rest. */
export interface Decoded {
  readonly settings: ClientSettings
  readonly requests: IngestionSettings
}

const decoded = (writeKey: unknown, options: ClientOptions): Either<Faults, Decoded> => {
  const defaults = defaultsOf(options)
  const faults = [
    ...requests(writeKey, options),
    // Every value was or is looked at by its own check; it is read by a key, and what stands there stays unknown.
    ...own(options as Readonly<Record<string, unknown>>),
    ...unknownKeys(options),
    ...(isLeft(defaults) ? defaults.left : []),
  ]
  // Only numbers that are right can be held against each other.
  if (faults.length === 0) faults.push(...together(options))
  if (faults.length > 0 || isLeft(defaults)) return left(faults)
  const settings = completed(options, defaults.right)
  const { endpoint = DEFAULT_ENDPOINT, egress, tls, headers } = options
  const { timeout, concurrency } = settings
  return right({
    settings,
    requests: {
      endpoint,
      // It has no faults, so it is a string.
      writeKey: writeKey as string,
      timeout,
      connections: concurrency,
      ...(egress === undefined ? {} : { egress }),
      ...(tls && { tls }),
      ...(headers && { headers }),
    },
  })
}

/** Checks a write key and options: either everything is right, or every fault is named, and no value (EV7). Never throws. */
export const settingsOf = (writeKey: unknown, options: ClientOptions): Either<Faults, Decoded> => {
  try {
    return typeof options === 'object' && (options as unknown) !== null && !Array.isArray(options)
      ? decoded(writeKey, options)
      : left([{ path: '', message: 'the options must be an object' }])
  } catch {
    return left([{ path: '', message: 'the options could not be read: give plain data' }])
  }
}
