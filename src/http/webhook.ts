/** `headrace/sinks/webhook`: a sink that posts to a URL. @module */
import { left } from 'fp-ts/lib/Either.js'
import type { Dispatcher } from 'undici'
import { systemClock } from '../core/clock.ts'
import { refused } from '../core/failure.ts'
import { kindOf } from '../core/json.ts'
import { checkOptions, methods, optional, optionalKey, timeLimit, wholeNumber } from '../core/options.ts'
import { ConfigError } from '../core/refusal.ts'
import { isPayload } from '../event/payload.ts'
import type { Payload } from '../event/payload.ts'
import type { Secret } from '../signing/secret.ts'
import { signerOf } from '../signing/secret.ts'
import { answer, makeSink } from '../sink/layer.ts'
import type { Sink } from '../sink/sink.ts'
import { withTimeout } from '../sink/timeout.ts'
import {
  headerNameOption,
  headersOption,
  optionsWith,
  secretOption,
  urlOption,
  userAgentOption,
} from './httpOptions.ts'
import type { RequestOptions } from './httpOptions.ts'
import { openUrlClient } from './urlClient.ts'

export type { Egress, EgressRules } from './egress.ts'
export { statusTable } from '../sink/status.ts'
export type { StatusMeaning, StatusRule, StatusTable } from '../sink/status.ts'
export type { TlsOptions } from './tls.ts'

/** Where a webhook goes, and how. Only the URL is needed. */
export interface WebhookOptions extends RequestOptions {
  /** Http or https; without credentials, white space, control characters and backslashes. */
  readonly url: string
  /** Signs the body of every request, in place of the secret that the payload was signed with. */
  readonly secret?: Secret | string
  /** Milliseconds for one attempt, from its start to the status of the answer. `Infinity` for no limit. Default 5,000. */
  readonly timeout?: number
  /** Milliseconds to look up the name, connect and agree on TLS. Default 5,000. */
  readonly connectWithin?: number
  /**
   * An undici Dispatcher of the host, such as a ProxyAgent or a MockAgent, in place of connections of headrace's own. It connects by itself,
   * so `egress` is checked for the text of the URL only, and not for the addresses that its name has; `tls` and `connectWithin` cannot be
   * given; undici's own limits of time apply too. It is not closed with the sink.
   */
  readonly dispatcher?: Dispatcher
  /** The name of a header that carries the message id, for receivers that deduplicate. Default: none is sent. */
  readonly messageIdHeader?: string
  /** Default `headrace/1.0`. */
  readonly userAgent?: string
}

const webhookOptions = optionsWith<WebhookOptions>(({ egress, messageIdHeader }) => ({
  url: urlOption(egress),
  headers: optional(headersOption(typeof messageIdHeader === 'string' ? [messageIdHeader] : [])),
  secret: optionalKey(secretOption),
  timeout: optional(timeLimit),
  connectWithin: optional(wholeNumber('ms', 1)),
  dispatcher: optionalKey(methods<Dispatcher>('an undici Dispatcher', 'dispatch')),
  messageIdHeader: optional(headerNameOption),
  userAgent: optional(userAgentOption),
}))

const VISIBLE = /^[\x21-\x7e]+$/

/** An id may hold any character, a header may not: an id that is not visible ASCII is percent-encoded. */
const inHeader = (id: string): string =>
  VISIBLE.test(id) ? id : encodeURIComponent(Buffer.from(id).toString())

/**
 * A sink that posts each payload to a URL, as JSON or in the payload's own format. The verdict is the status, and comes with the status
 * line; the delivery completes when the rest of the answer is read (at most 16 KiB) or dropped. Unsubscribing destroys the socket.
 *
 * Any 2xx is delivered; 408, 425, 429, 5xx, and a connection that fails or breaks may be tried again; a redirect, any other 4xx, a
 * certificate that does not verify and a forbidden address are final. It never follows a redirect, never
 * inflates, and sends nothing at or after `attempt.until`.
 *
 * Its name is the URL up to the query, with a hash of the query if there is one.
 *
 * @throws ConfigError that names every wrong option, and no secret or header value.
 *
 * @example
 * import { webhook } from 'headrace/sinks/webhook'
 * const sink = webhook({ url: 'https://receiver.example/hook?token=1', headers: { 'X-Api-Key': 'k' }, secret: 'correct horse' })
 * console.log(sink.name) // => https://receiver.example/hook?b35c04b9
 */
export const webhook = (target: string | WebhookOptions): Sink<Payload<unknown>> => {
  const given = typeof target === 'string' ? { url: target } : target
  const options = checkOptions('webhook options', webhookOptions, given)
  const { url, secret, messageIdHeader, timeout = 5_000, clock = systemClock } = options
  const { connectWithin = 5_000, userAgent = 'headrace/1.0', dispatcher } = options
  const ownSigner = secret === undefined ? undefined : signerOf(secret)
  if (dispatcher !== undefined && (options.tls !== undefined || options.connectWithin !== undefined))
    throw new ConfigError('Invalid webhook options', [
      { path: 'dispatcher', message: 'connects by itself: leave out tls and connectWithin' },
    ])
  const fixed = ['User-Agent', userAgent]
  const client = openUrlClient(new URL(url), fixed, options, connectWithin, true, dispatcher)
  const sink = makeSink<Payload<unknown>>(
    client.name,
    (payload, attempt, observer) => {
      if (!isPayload(payload)) {
        const detail = `got ${kindOf(payload)}: put encode() before it`
        return answer(observer, left(refused('notAPayload', { detail })))
      }
      const headers = messageIdHeader === undefined ? [] : [messageIdHeader, inHeader(payload.id)]
      return client.post(payload, attempt, ownSigner, headers, 0, observer)
    },
    client.close,
  )
  return timeout === Infinity ? sink : withTimeout(timeout, { clock })(sink)
}
