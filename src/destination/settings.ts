/**
 * Settings and options of a webhook destination: decoded from unknown input, with all faults, before anything
 * runs. @module
 */
import * as t from 'io-ts'
import { map, mapLeft, type Either } from '../core/either.ts'
import { systemClock, systemRandom, type Random } from '../core/clock.ts'
import { clockOption, decodeOptions, flag, func, list, type Faults } from '../core/options.ts'
import { option, optional, optionalKey, strict, text, wholeNumber, withDefault } from '../core/options.ts'
import type { Decoded, Option, OptionShape } from '../core/options.ts'
import type { Fault } from '../core/refusal.ts'
import type { Event } from '../event/event.ts'
import { bodyBytes } from '../event/limits.ts'
import type { Payload } from '../event/payload.ts'
import { egressOption, withEgressFaults } from '../http/egress.ts'
import { dispatcherOption, faultsAt, headerNameOption, headersOption } from '../http/httpOptions.ts'
import { nameFault, secretSourceOption, standardSecretOption, urlName } from '../http/httpOptions.ts'
import { urlOption, withoutCredentials } from '../http/httpOptions.ts'
import { tlsOption } from '../http/tls.ts'
import type { Egress, WebhookOptions } from '../http/webhook.ts'
import type { Listener } from '../log/logEvent.ts'
import { loggerOption } from '../log/logger.ts'
import { outboxOption, type OutboxOption } from '../outbox/lmdb/openOutbox.ts'
import { retryOption, standard } from '../policy/retryPolicy.ts'
import type { SecretSource } from '../signing/secret.ts'
import { STANDARD_HEADERS, type StandardSecretSource } from '../signing/standard.ts'
import type { Layer } from '../sink/sink.ts'
import { statusesOption } from '../sink/status.ts'

/** One URL of a destination. */
export interface WebhookSettings extends Pick<WebhookOptions, 'url' | 'headers' | 'tls'> {
  /** Signs the requests to this URL, in place of the destination's `sharedSecret`. */
  readonly secret?: SecretSource
  /** Secrets of Standard Webhooks for this URL, in place of the destination's `standardSecret`. */
  readonly standardSecret?: StandardSecretSource
}

/** The settings of a webhook destination. */
export interface Settings {
  /** Signs every request. A function is asked at each attempt. Default: requests are not signed. */
  readonly sharedSecret?: SecretSource
  /**
   * Adds the headers of Standard Webhooks, beside `X-Signature`: `whsec_` and base64, a list for rotation, or
   * a function that is asked at each attempt. Default: they are not sent.
   */
  readonly standardSecret?: StandardSecretSource
  /** Whether it starts switched on. Default true. */
  readonly enabled?: boolean
  /** One to five URLs. */
  readonly webhooks: ReadonlyArray<WebhookSettings>
}

/** Faults of list entries that repeat the `key` of an earlier one. Undefined values may repeat. */
export const repeats = (list: string, key: string, values: ReadonlyArray<string | undefined>): Faults => {
  const firsts = new Map<string | undefined, number>()
  // It passes over the places of entries that are wrong.
  values.forEach((value, index) => {
    if (!firsts.has(value)) firsts.set(value, index)
  })
  return values.flatMap((value, index) => {
    const first = firsts.get(value)
    if (value === undefined || first === index) return []
    const path = `[${String(index)}].${key}`
    return [{ path, message: `is the same as ${list}[${String(first)}].${key}` }]
  })
}

/** Fragments are never sent, and an empty query names the same receiver. */
const receiverOf = ({ url }: WebhookSettings): string => urlName(new URL(url))

const urlSettings = (egress: Egress | undefined) =>
  strict({
    url: urlOption(egress),
    headers: optional(headersOption()),
    secret: optionalKey(secretSourceOption),
    standardSecret: optionalKey(standardSecretOption),
    tls: optionalKey(tlsOption),
  })

/** One to five entries with a URL, no two of them for the same receiver. `egress` limits the URLs. */
export const webhookList = (egress: Egress | undefined): Option<ReadonlyArray<WebhookSettings>> =>
  list(
    'entries with a url',
    1,
    5,
    option('a webhook', (value) =>
      map((each: WebhookSettings) => withoutCredentials(each))(decodeOptions(urlSettings(egress), value)),
    ),
    (webhooks) => repeats('webhooks', 'url', webhooks.map(receiverOf)),
  )

/**
 * Decodes settings: the settings, of which no log and no JSON shows a secret, header value, key or URL query,
 * or all faults, each with its path and without the value. `egress` limits what the URLs may point to; wrong
 * rules are faults too.
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
  withEgressFaults(egress, decodeOptions(settingsOption(egress), input))

/** Faults of headers that a request sets itself: those of a standard secret, and `messageIdHeader`. */
export const ownHeaderFaults = (
  { standardSecret: shared, webhooks = [] }: Partial<Pick<Settings, 'standardSecret' | 'webhooks'>>,
  ...own: ReadonlyArray<string>
): Faults =>
  webhooks.flatMap(({ headers = {}, standardSecret = shared }, at) => {
    const taken = standardSecret === undefined ? own : [...own, ...STANDARD_HEADERS]
    const faultOf = (name: string): Faults =>
      faultsAt(`webhooks[${String(at)}].headers.${name}`, nameFault(name, taken))
    return Object.keys(headers).flatMap(faultOf)
  })

const settingsOption = (egress?: Egress): Option<Settings> =>
  strict(
    {
      sharedSecret: optionalKey(secretSourceOption),
      standardSecret: optionalKey(standardSecretOption),
      enabled: optional(flag),
      webhooks: webhookList(egress),
    },
    ownHeaderFaults,
    'an object such as { webhooks: [{ url }] }',
  )

/** An error of io-ts holds the input at each step of its path, and the settings have secrets. */
const withoutValues = ({ context, message }: t.ValidationError): t.ValidationError => {
  // An object for each value: `faultsOf` looks which steps of the path are at the same value.
  const stands = new Map(context.map(({ actual }) => [actual, actual === undefined ? undefined : {}]))
  return {
    value: undefined,
    context: context.map(({ key, type, actual }) => ({ key, type, actual: stands.get(actual) })),
    ...(message === undefined ? {} : { message }),
  }
}

/**
 * The settings as an io-ts codec, for the configuration of a host that holds them. It decodes as
 * `decodeSettings` does. Its errors hold no values; those of other parts of a configuration hold the whole of
 * it.
 *
 * @example
 * import { faultsOf } from 'headrace/events'
 * import { Settings } from 'headrace/destination'
 * import * as t from 'io-ts'
 *
 * const Config = t.type({ port: t.number, hooks: Settings })
 * const decoded = Config.decode({ port: 8080, hooks: { webhooks: [{ url: 'ftp://a.example' }] } })
 * if (decoded._tag === 'Left') console.log(faultsOf(decoded.left).map(({ path }) => path))
 * // => [ 'hooks.webhooks[0].url' ]
 */
export const Settings: t.Type<Settings, Settings> = new t.Type<Settings, Settings, unknown>(
  'Settings',
  (value): value is Settings => settingsOption().decode(value)._tag === 'Right',
  (value, context) =>
    mapLeft((errors: t.Errors) => errors.map(withoutValues))(settingsOption().validate(value, context)),
  t.identity,
)

/** The headers of the request in which an event came. */
export interface IncomingHeaders {
  readonly get: (name: string) => string | undefined
}

const sharedShape = {
  retry: withDefault(retryOption, standard),
  timeout: withDefault(wholeNumber('ms', 1), 5_000),
  concurrency: withDefault(wholeNumber('requests', 1), 16),
  orderBy: optional(func<(event: Event) => string>()),
  maxCount: withDefault(wholeNumber('items', 1), 100_000),
  maxBytes: withDefault(wholeNumber('bytes', 1), 268_435_456),
  maxInFlight: withDefault(wholeNumber('items', 1), 1_000),
  maxBodyBytes: withDefault(wholeNumber('bytes', 1), bodyBytes),
  egress: optionalKey(egressOption),
  dispatcher: optionalKey(dispatcherOption),
  statuses: optional(statusesOption),
  messageIdHeader: optional(headerNameOption()),
  logger: optional(loggerOption),
  onEvent: optional(func<Listener>()),
  clock: withDefault(clockOption, systemClock),
  random: withDefault(func<Random>(), systemRandom),
  newId: optional(func<() => string>()),
  layer: optional(func<Layer>()),
  meta: optional(func<(event: Event, headers: IncomingHeaders) => unknown>()),
}

/** Checked options that a destination and a collector share, with their defaults. */
export type SharedOptions = Decoded<typeof sharedShape>

export const sharedOptionsWith = <S extends OptionShape>(more: S): Option<SharedOptions & Decoded<S>> =>
  // Both shapes decode key by key; of an unknown S the compiler does not see it.
  strict({ ...sharedShape, ...more }) as Option<unknown> as Option<SharedOptions & Decoded<S>>

export type CheckedOptions = SharedOptions & {
  readonly name: string
  readonly outbox?: OutboxOption<Payload<Event>>
}

export const destinationOptions: Option<CheckedOptions> = sharedOptionsWith({
  name: withDefault(text, 'destination'),
  outbox: optionalKey(outboxOption<Payload<Event>>()),
})

const IN_OPTIONS = 'is an option: give it in the second argument'
const OPTION_KEYS = new Set(['name', 'outbox', ...Object.keys(sharedShape)])
/** The faults of settings. An option among them is in the wrong argument. */
export const misplaced = (faults: Faults): Faults =>
  faults.map((each) => (OPTION_KEYS.has(each.path) ? { ...each, message: IN_OPTIONS } : each))
