/** The options of a client, and their checks. @module */
import type { Type } from 'io-ts'
import { isLeft, mapLeft, right } from '../core/either.ts'
import { backgroundClock, systemRandom, type Clock, type Random } from '../core/clock.ts'
import { isRecord } from '../core/json.ts'
import { anyOf, clockOption, decodeOptions, flag, func, oneOf, option, text } from '../core/options.ts'
import { optional, optionalKey, strict, wholeNumber, withDefault, type Decoded } from '../core/options.ts'
import { ConfigError, type Fault } from '../core/refusal.ts'
import { faultsOf } from '../event/codecFaults.ts'
import * as Limits from '../event/limits.ts'
import { Integrations, ScreenContext, type Data } from '../event/model.ts'
import type { Event } from '../event/event.ts'
import { frameBytes, maxHeldBytes } from '../event/payload.ts'
import { trackingFrame } from '../event/trackingMessage.ts'
import { ingestionFaults, type IngestionSettings } from '../http/bareIngestion.ts'
import type { Listener } from '../log/logEvent.ts'
import type { Listening } from '../log/listeners.ts'
import { loggerOption } from '../log/logger.ts'
import type { Outbox, OutboxFactory } from '../outbox/outbox.ts'
import type { StoredIn } from '../outbox/lmdb/contract.ts'
import { outboxOption } from '../outbox/lmdb/openOutbox.ts'
import { retryOption, standard, type Retrying } from '../policy/retryPolicy.ts'
import { sinkOption, type Layer, type Sink } from '../sink/sink.ts'
import type { Message, SentBatch } from './message.ts'

/** What happens to a call when the queue is full. @inline */
export type Overflow = 'error' | 'dropNewest' | 'dropOldest'

/** Options beside the write key. Numbers are whole and from 1 unless another range is given. */
export interface ClientOptions
  extends Listening, Retrying, Pick<IngestionSettings, 'dispatcher' | 'egress' | 'headers' | 'tls'> {
  /** `from` in its log events. Default `client`. */
  readonly name?: string
  /** Messages in a batch; 1 sends each at once. Default 20. */
  readonly size?: number
  /** Another name for `size`. If both are given, the smaller one counts. */
  readonly flushAt?: number
  /**
   * Milliseconds from the last batch of new messages, at first from the creation, after which waiting ones
   * are sent; a message after a longer pause is sent at once. Default 5,000; `Infinity` for never.
   */
  readonly flushAfter?: number
  /**
   * The URL of requests, http or https. Without a path, `/v1/batch` is used. Default
   * `http://127.0.0.1:7410/v1/batch`.
   */
  readonly endpoint?: string | URL
  /** Bytes of JSON of one message; default 32,000. */
  readonly maxMessageBytes?: number
  /** Bytes of the body of a batch, frame and commas included; default 500,000. */
  readonly maxBatchBytes?: number
  /**
   * The maximum number of accepted messages without an outcome; default 10,000. With an `outbox`: of those
   * that it has not stored yet.
   */
  readonly maxCount?: number
  /** The same in bytes of memory: their JSON, and 256 for each; default 33,554,432. */
  readonly maxBytes?: number
  /**
   * The policy for a full queue. `error`, the default: the call answers `Full`. `dropNewest`: it is accepted
   * and dropped. `dropOldest`: the oldest message that is not in flight is dropped; if all are in flight, the
   * new one. Each dropped message has its outcome, `Dropped`. With an `outbox`, `dropOldest` is a fault.
   *
   * A call made while such an outcome is reported answers `Full` if there is no room: send it again after
   * `ready()`. A queue that is smaller than a batch sends its messages when it is full.
   */
  readonly overflow?: Overflow
  /**
   * Requests at a time. Default 1, which keeps the order of the calls: later messages wait behind a retry.
   * More keep no order, and are opened only under a backlog: while a request runs, a full batch, a flush and
   * a retry start another one, and `flushAfter` does not.
   */
  readonly concurrency?: number
  /** Milliseconds for one request in total, headers and body; default 10,000. */
  readonly timeout?: number
  /** For calls that name no such destination themselves: the call's own entry wins, name by name. */
  readonly integrations?: Integrations
  /** For the context of every call: the call's own entry wins, key by key. */
  readonly context?: Data
  /** Default true. If false, calls are checked and answered `Disabled`; nothing is queued or sent. */
  readonly enabled?: boolean
  /**
   * Where messages wait; default memory. `{ path }` is a folder on a disk, by default for 2,000,000 messages
   * and 8 GiB of their JSON: calls still answer at once, each message is on the disk some milliseconds later
   * (`persisted()` says when), and a crash loses none that is. Or an outbox of your own, which gets messages
   * as plain data, or a factory of one; it is closed with the client. While the store fails, messages wait in
   * memory and are sent from there.
   */
  readonly outbox?: Outbox<Message> | OutboxFactory<Message> | StoredIn
  /**
   * Receives batches in place of the endpoint. A batch that is refused with 400, 413 or 422 is divided, and
   * `timeout` applies, as with HTTP. The client does not close it.
   */
  readonly sink?: Sink<SentBatch>
  /** Around the endpoint, or the `sink`, inside the `timeout`. It receives batches. */
  readonly layer?: Layer
  /**
   * Data beside an accepted event, such as its trace: stored with the message, in `meta` of each of a batch's
   * `members`. Called inside the call. If it throws, or answers more than 1,024 bytes of JSON, there is none,
   * and a `Defect`.
   */
  readonly meta?: (event: Event) => Readonly<Record<string, string>> | undefined
  /**
   * Receives a promise for each accepted call; it resolves when everything accepted has ended. For platforms
   * that freeze an idle process.
   */
  readonly waitUntil?: (ended: Promise<unknown>) => void
  /**
   * Sends waiting messages at the natural end of the program, and lets the process end when all have ended or
   * nothing more can happen in time. Default true: at most 10,000 ms; a number sets the milliseconds; false
   * turns it off.
   */
  readonly drainOnExit?: boolean | number
  /** Default: the machine's, with timers that do not hold the process. */
  readonly clock?: Clock
  /**
   * Makes the id of a call without one: 1 to 256 characters; if it throws, the call is refused. Default: a
   * random UUID.
   */
  readonly newId?: () => string
}

/** The bytes of a body without its messages. */
export const FRAME_BYTES: number = frameBytes(trackingFrame)

const countFromOne = wholeNumber('', 1)

const partOfCall = <A>(of: Type<A, unknown>) => option(of.name, (it) => mapLeft(faultsOf)(of.decode(it)))

const flushTime = anyOf('must be a whole number of ms from 1, or Infinity', countFromOne, oneOf(Infinity))

const clientShape = {
  name: withDefault(text, 'client'),
  size: optional(countFromOne),
  flushAt: optional(countFromOne),
  flushAfter: withDefault(flushTime, 5_000),
  maxMessageBytes: withDefault(countFromOne, Limits.callBytes),
  maxBatchBytes: withDefault(countFromOne, Limits.batchBytes),
  maxCount: withDefault(countFromOne, 10_000),
  maxBytes: withDefault(countFromOne, 33_554_432),
  overflow: withDefault(oneOf<Overflow>('error', 'dropNewest', 'dropOldest'), 'error'),
  concurrency: withDefault(countFromOne, 1),
  retry: withDefault(retryOption, standard),
  timeout: withDefault(countFromOne, 10_000),
  integrations: optional(partOfCall(Integrations)),
  context: optional(partOfCall(ScreenContext)),
  enabled: withDefault(flag, true),
  outbox: optionalKey(outboxOption<Message>()),
  sink: optional(sinkOption<SentBatch>()),
  logger: optional(loggerOption),
  onEvent: optional(func<Listener>()),
  waitUntil: optional(func<(ended: Promise<unknown>) => void>()),
  drainOnExit: withDefault(
    anyOf<boolean | number>('must be true, false or a whole number of ms from 1', flag, countFromOne),
    true,
  ),
  clock: withDefault(clockOption, backgroundClock),
  random: withDefault(func<Random>(), systemRandom),
  newId: optional(func<() => string>()),
  layer: optional(func<Layer>()),
  meta: optional(func<NonNullable<ClientOptions['meta']>>()),
}

/** Checked with the requests. */
const passed = optional(option<unknown>('passed', right))
const passedShape = { endpoint: passed, egress: passed, tls: passed, headers: passed, dispatcher: passed }

/** The rules for several options together. */
const queueFaults = (options: Decoded<typeof clientShape>): ReadonlyArray<Fault> => {
  const { maxMessageBytes, maxBatchBytes, maxBytes, overflow } = options
  const room = `must leave room for the ${String(FRAME_BYTES)} bytes of the frame in maxBatchBytes`
  const faults: Fault[] = []
  if (maxMessageBytes + FRAME_BYTES > maxBatchBytes) faults.push({ path: 'maxMessageBytes', message: room })
  const one = 'must have room for one message: twice maxMessageBytes and 256'
  if (maxHeldBytes(maxMessageBytes) > maxBytes) faults.push({ path: 'maxBytes', message: one })
  if (overflow === 'dropOldest' && options.outbox !== undefined)
    faults.push({ path: 'overflow', message: 'cannot be dropOldest with an outbox' })
  return faults
}

const clientOptions = strict({ ...passedShape, ...clientShape }, queueFaults)

/** The checked options with their defaults. `size` is the smaller one of `size` and `flushAt`. */
export interface ClientSettings extends Omit<Decoded<typeof clientShape>, 'size'> {
  readonly size: number
  readonly requests: IngestionSettings
}

const KEY_FIRST = [{ path: 'writeKey', message: "is the first argument: createClient('key', { … })" }]
const DEFAULT_ENDPOINT = 'http://127.0.0.1:7410/v1/batch'

/** @throws ConfigError that names every fault of the write key and the options, without values. */
export const checkClientOptions = (writeKey: string, options: ClientOptions): ClientSettings => {
  const given: ClientOptions = isRecord(options) ? options : {}
  const { endpoint = DEFAULT_ENDPOINT, egress, tls, headers, dispatcher } = given
  const checked = decodeOptions(clientOptions, options)
  // A key that is present and undefined is a fault, so only those that are present are passed on.
  const present = Object.entries({ egress, tls, headers, dispatcher }).filter(([key]) => key in given)
  // If a member is wrong or undefined, there is a fault.
  const requests = { writeKey, endpoint, ...Object.fromEntries(present) } as IngestionSettings
  const faults = isRecord(writeKey) ? KEY_FIRST : ingestionFaults(requests)
  if (isLeft(checked) || faults.length > 0)
    throw new ConfigError('Invalid client options', [...(isLeft(checked) ? checked.left : []), ...faults])
  const { size = Infinity, flushAt = Infinity } = checked.right
  const smaller = Math.min(size, flushAt)
  return { ...checked.right, requests, size: smaller === Infinity ? 20 : smaller }
}
