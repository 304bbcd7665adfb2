/**
 * The settings of a webhook destination (seed/A1, DE11): decoded from unknown input, every fault at once, before anything runs.
 *
 * @module
 */

import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { isRecord } from '../core/json.ts'
import type { Fault } from '../core/refusal.ts'
import { webhookFaults } from '../http/webhookOptions.ts'
import type { Egress, TlsOptions } from '../http/webhook.ts'
import { secretFrom } from '../signing/secret.ts'
import type { Secret } from '../signing/secret.ts'

/** One URL of a destination. */
export interface WebhookSettings {
  /** The full URL, http or https. */
  readonly url: string
  /** Static headers, sent to this URL only. */
  readonly headers?: Readonly<Record<string, string>>
  /** Signs the requests to this URL in place of the destination's `sharedSecret` (DE10). */
  readonly secret?: Secret | string
  /** Authorities to trust, and our own certificate. */
  readonly tls?: TlsOptions
}

/** What a webhook destination is configured with (seed/A1). */
export interface Settings {
  /** When given, every request is signed (DE10). */
  readonly sharedSecret?: Secret | string
  /** Whether it starts switched on; default true (DE14). */
  readonly enabled?: boolean
  /** One to five. */
  readonly webhooks: ReadonlyArray<WebhookSettings>
}

/** A destination has at most so many URLs (seed/Limits). */
export const MOST_WEBHOOKS = 5

const SETTINGS = ['sharedSecret', 'enabled', 'webhooks']
const WEBHOOK = ['url', 'headers', 'secret', 'tls']

const unknownKeys = (value: object, known: ReadonlyArray<string>, path: string): ReadonlyArray<Fault> =>
  Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => ({ path: path + key, message: `is no setting; there are ${known.join(', ')}` }))

const secretFaults = (secret: unknown): ReadonlyArray<Fault> =>
  webhookFaults({ url: 'http://secret.invalid', secret }).map(({ message }) => ({
    path: 'sharedSecret',
    message,
  }))

const entryFaults = (entry: unknown, index: number, egress: Egress | undefined): ReadonlyArray<Fault> => {
  const path = `webhooks[${String(index)}]`
  if (!isRecord(entry)) return [{ path, message: 'must be an object with a url' }]
  const { url, headers, secret, tls } = entry
  const faults = webhookFaults({ url, headers, secret, tls, egress })
  return [
    ...faults.map((fault) => ({ path: `${path}.${fault.path}`, message: fault.message })),
    ...unknownKeys(entry, WEBHOOK, `${path}.`),
  ]
}

/** Two entries for one URL would post each event to it twice. */
const repeated = (entries: ReadonlyArray<unknown>): ReadonlyArray<Fault> => {
  const seen = new Map<string, number>()
  return entries.flatMap((entry, index) => {
    const url = isRecord(entry) ? entry['url'] : undefined
    if (typeof url !== 'string' || !URL.canParse(url)) return []
    const target = new URL(url)
    // A fragment is never sent, and an empty query names no other receiver: `https://a.example/x?`.
    target.hash = ''
    if (target.search === '') target.search = ''
    const first = seen.get(target.href)
    if (first === undefined) seen.set(target.href, index)
    return first === undefined
      ? []
      : [
          {
            path: `webhooks[${String(index)}].url`,
            message: `is the same URL as webhooks[${String(first)}].url`,
          },
        ]
  })
}

const webhooksFaults = (webhooks: unknown, egress: Egress | undefined): ReadonlyArray<Fault> => {
  if (!Array.isArray(webhooks))
    return [{ path: 'webhooks', message: 'must be an array of 1 to 5 entries with a url' }]
  const entries: ReadonlyArray<unknown> = webhooks
  const count = entries.length
  const amount =
    count === 0 || count > MOST_WEBHOOKS
      ? [
          {
            path: 'webhooks',
            message: `must have 1 to ${String(MOST_WEBHOOKS)} entries, not ${String(count)}`,
          },
        ]
      : []
  return [
    ...amount,
    ...entries.flatMap((entry, index) => entryFaults(entry, index, egress)),
    ...repeated(entries),
  ]
}

const faultsOf = (input: unknown, egress: Egress | undefined): ReadonlyArray<Fault> => {
  if (!isRecord(input)) return [{ path: '', message: 'the settings must be an object with webhooks' }]
  const { sharedSecret, enabled, webhooks } = input
  return [
    ...(sharedSecret === undefined ? [] : secretFaults(sharedSecret)),
    ...(enabled === undefined || typeof enabled === 'boolean'
      ? []
      : [{ path: 'enabled', message: 'must be true or false' }]),
    ...webhooksFaults(webhooks, egress),
    ...unknownKeys(input, SETTINGS, ''),
  ]
}

/** Settings may come from anywhere, and a getter that throws is wrong settings too. */
const readableFaults = (input: unknown, egress: Egress | undefined): ReadonlyArray<Fault> => {
  try {
    return faultsOf(input, egress)
  } catch {
    return [{ path: '', message: 'the settings could not be read: give plain data' }]
  }
}

/** Text becomes a `Secret`, which cannot be printed. Called on secrets that have been checked. */
export const hidden = (secret: Secret | string): Secret | string => {
  if (typeof secret !== 'string') return secret
  const made = secretFrom(secret)
  return made._tag === 'Right' ? made.right : secret
}

/** The settings with their secrets made unprintable. Called on settings that have been checked. */
export const concealed = <S extends Settings>(settings: S): S => ({
  ...settings,
  ...(settings.sharedSecret === undefined ? {} : { sharedSecret: hidden(settings.sharedSecret) }),
  webhooks: settings.webhooks.map((entry) =>
    entry.secret === undefined ? { ...entry } : { ...entry, secret: hidden(entry.secret) },
  ),
})

/**
 * Decodes settings: either they are right, with their secrets made unprintable, or every fault is named with its path and no
 * value. `egress` is what the URLs may point to (DE13).
 *
 * @example
 * import { decodeSettings } from 'headrace/destination'
 *
 * const decoded = decodeSettings({ webhooks: [{ url: 'ftp://a.example' }], sharedSecret: '' })
 * if (decoded._tag === 'Left') for (const { path, message } of decoded.left) console.log(path, message)
 * // => sharedSecret must not be empty
 * // => webhooks[0].url must begin with http:// or https://
 */
export const decodeSettings = (input: unknown, egress?: Egress): Either<ReadonlyArray<Fault>, Settings> => {
  const faults = readableFaults(input, egress)
  // Every member was checked just above.
  return faults.length > 0 ? left(faults) : right(concealed(input as Settings))
}
