/**
 * Settings and options of a webhook destination: decoded from unknown input, all faults at once, before anything runs.
 *
 * @module
 */

import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { systemClock, systemRandom } from '../core/clock.ts'
import type { Random } from '../core/clock.ts'
import { isRecord } from '../core/json.ts'
import {
  anyOf,
  clockOption,
  decodeOptions,
  flag,
  func,
  guarded,
  list,
  methods,
  oneOf,
  option,
  optional,
  strict,
  wholeNumber,
  withDefault,
} from '../core/options.ts'
import type { Option } from '../core/options.ts'
import type { Fault } from '../core/refusal.ts'
import type { Event } from '../event/event.ts'
import { bodyBytes } from '../event/limits.ts'
import type { Payload } from '../event/payload.ts'
import { egressOption } from '../http/egress.ts'
import { headerNameOption, headersOption, secretOption, urlOption } from '../http/target.ts'
import { tlsOption } from '../http/tls.ts'
import type { Egress, TlsOptions } from '../http/webhook.ts'
import type { Listener } from '../log/logEvent.ts'
import type { Logger } from '../log/logger.ts'
import { storedIn } from '../outbox/lmdb/contract.ts'
import type { StoredIn } from '../outbox/lmdb/contract.ts'
import { isOutbox } from '../outbox/outbox.ts'
import type { Outbox } from '../outbox/outbox.ts'
import { isRetryPolicy, standard } from '../policy/retryPolicy.ts'
import type { Secret } from '../signing/secret.ts'
import { statusesOption } from '../sink/status.ts'
import type { DestinationOptions } from './destination.ts'

/** One URL of a destination. */
export interface WebhookSettings {
  /** The full URL, http or https. */
  readonly url: string
  /** Static headers, sent to this URL only. */
  readonly headers?: Readonly<Record<string, string>>
  /** Signs the requests to this URL, in place of the destination's `sharedSecret`. */
  readonly secret?: Secret | string
  /** Trusted authorities and the client certificate. */
  readonly tls?: TlsOptions
}

/** The settings of a webhook destination. */
export interface Settings {
  /** Signs every request. Default: requests are not signed. */
  readonly sharedSecret?: Secret | string
  /** Whether it starts switched on. Default true. */
  readonly enabled?: boolean
  /** One to five URLs. */
  readonly webhooks: ReadonlyArray<WebhookSettings>
}

/** Faults of entries of a list that have the same value of `key` as an earlier one. Undefined values may repeat. */
export const repeated = (
  list: string,
  key: string,
  values: ReadonlyArray<string | undefined>,
): ReadonlyArray<Fault> =>
  values.flatMap((value, index) => {
    const first = values.indexOf(value)
    if (value === undefined || first === index) return []
    const path = `[${String(index)}].${key}`
    return [{ path, message: `is the same as ${list}[${String(first)}].${key}` }]
  })

/** Fragments are never sent, and an empty query names the same receiver. */
const receiverOf = ({ url }: WebhookSettings): string => {
  const target = new URL(url)
  target.hash = ''
  if (target.search === '') target.search = ''
  return target.href
}

/** One to five entries with a URL, no two of them for the same receiver. `egress` limits the URLs. */
export const webhookList = (egress: Egress | undefined): Option<ReadonlyArray<WebhookSettings>> =>
  list(
    'entries with a url',
    1,
    5,
    strict({
      url: urlOption(egress),
      headers: optional(headersOption()),
      secret: optional(secretOption),
      tls: optional(tlsOption),
    }),
    (webhooks) => repeated('webhooks', 'url', webhooks.map(receiverOf)),
  )

/**
 * Decodes settings: the settings with their secrets made unprintable, or all faults, each with its path and without the value.
 * `egress` limits what the URLs may point to.
 *
 * @example
 * import { decodeSettings } from 'headrace/destination'
 *
 * const decoded = decodeSettings({ webhooks: [{ url: 'ftp://a.example' }], sharedSecret: '' })
 * if (decoded._tag === 'Left') for (const { path, message } of decoded.left) console.log(path, message)
 * // => sharedSecret must not be empty
 * // => webhooks[0].url must begin with http:// or https://
 */
export const decodeSettings = (input: unknown, egress?: Egress): Either<ReadonlyArray<Fault>, Settings> =>
  decodeOptions(
    strict({ sharedSecret: optional(secretOption), enabled: optional(flag), webhooks: webhookList(egress) }),
    input,
  )

const outbox: Option<Outbox<Payload<Event>> | StoredIn> = option('an outbox', (value) => {
  // The type of its items cannot be checked.
  if (isOutbox(value)) return right(value as Outbox<Payload<Event>>)
  return isRecord(value) && !('enqueue' in value)
    ? decodeOptions(storedIn, value)
    : left('must be { path } of a folder, or an Outbox')
})

type Defaulted =
  | 'retry'
  | 'timeout'
  | 'concurrency'
  | 'maxCount'
  | 'maxBytes'
  | 'maxInFlight'
  | 'maxBody'
  | 'clock'
  | 'random'

/** Checked options that a destination and a collector share, with their defaults. */
export type SharedOptions = Omit<DestinationOptions, Defaulted | 'outbox'> &
  Required<Pick<DestinationOptions, Defaulted>>

const sharedShape = {
  retry: withDefault(guarded('a RetryPolicy', isRetryPolicy), standard),
  timeout: withDefault(wholeNumber('ms', 1), 5_000),
  concurrency: withDefault(wholeNumber('requests', 1), 16),
  orderBy: optional(func<(event: Event) => string>()),
  maxCount: withDefault(wholeNumber('items', 1), 100_000),
  maxBytes: withDefault(wholeNumber('bytes', 1), 268_435_456),
  maxInFlight: withDefault(wholeNumber('items', 1), 1_000),
  maxBody: withDefault(wholeNumber('bytes', 1), bodyBytes),
  egress: optional(egressOption),
  statuses: optional(statusesOption),
  messageIdHeader: optional(headerNameOption),
  logger: optional(
    anyOf<Logger | false>(
      'must be a Logger, or false',
      oneOf(false),
      methods<Logger>('a Logger', 'debug', 'info', 'warn', 'error'),
    ),
  ),
  onEvent: optional(func<Listener>()),
  clock: withDefault(clockOption, systemClock),
  random: withDefault(func<Random>(), systemRandom),
  newId: optional(func<() => string>()),
}

/** The shared options and `more`. */
export const optionsWith = <A extends object>(
  more: Readonly<Record<keyof A, Option<unknown>>>,
): Option<SharedOptions & A> =>
  // `A` is what its options decode to; `SharedOptions` lists what those of the shape decode to.
  strict({ ...sharedShape, ...more }) as Option<unknown> as Option<SharedOptions & A>

/** Checked options of a destination. */
export type CheckedOptions = SharedOptions & Pick<DestinationOptions, 'outbox'>

/** The options of a destination. */
export const destinationOptions: Option<CheckedOptions> = optionsWith<Pick<DestinationOptions, 'outbox'>>({
  outbox: optional(outbox),
})
