import type { Fields } from '../core/json.ts'
import { checkOptions, optional, optionalKey, timeLimit, wholeNumber } from '../core/options.ts'
import type { Payload } from '../event/payload.ts'
import { askFor, signerSource, type SecretSource } from '../signing/secret.ts'
import { STANDARD_HEADERS, standardHeadersOf, type StandardSecretSource } from '../signing/standard.ts'
import { clockOf, type Attempt, type Sink } from '../sink/sink.ts'
import { headerNameOption, headersOption, sinkSettings, secretSourceOption } from './httpOptions.ts'
import { standardSecretOption, urlOption, userAgentOption, type RequestOptions } from './httpOptions.ts'
import { postTo, type PostOptions } from './post.ts'

/** Where a webhook goes, and how. Only the URL is needed. */
export interface WebhookOptions extends RequestOptions, Pick<PostOptions, 'connectWithin'> {
  /** Http or https; without credentials, white space, control characters and backslashes. */
  readonly url: string
  /**
   * Signs the body of every request, in place of the payload's secret. A function is asked at each attempt;
   * if it throws, or answers no secret, the attempt is a `Defect` and may be tried again.
   */
  readonly secret?: SecretSource
  /**
   * Adds the headers of Standard Webhooks: `whsec_` and base64, a list for rotation, or a function that is
   * asked at each attempt. The time in them is that of the attempt. Default: they are not sent.
   */
  readonly standardSecret?: StandardSecretSource
  /** Milliseconds of one attempt, from its request to the status. `Infinity` for no limit. Default 5,000. */
  readonly timeout?: number
  /**
   * The name of a header with the message id, for receivers that deduplicate. An id that has a `%`, or more
   * than visible ASCII, is percent-encoded, as in `webhook-id`: `a b` is `a%20b`. Default: none is sent.
   */
  readonly messageIdHeader?: string
  /** Default `headrace/1.0`. */
  readonly userAgent?: string
}

const ownNames = ({ messageIdHeader, standardSecret }: Fields): ReadonlyArray<string> => [
  ...(typeof messageIdHeader === 'string' ? [messageIdHeader] : []),
  ...(standardSecret === undefined ? [] : STANDARD_HEADERS),
]

const webhookOptions = sinkSettings<WebhookOptions>((given) => ({
  url: urlOption(given['egress']),
  headers: optional(headersOption(ownNames(given))),
  secret: optionalKey(secretSourceOption),
  standardSecret: optionalKey(standardSecretOption),
  timeout: optional(timeLimit),
  connectWithin: optional(wholeNumber('ms', 1)),
  messageIdHeader: optional(headerNameOption(ownNames({ ...given, messageIdHeader: undefined }))),
  userAgent: optional(userAgentOption),
}))

/** Visible ASCII without `%`. */
const PLAIN_ID = /^[\x21-\x24\x26-\x7e]+$/

/** Percent-encodes an id that is not plain, for a header. No two have one value: half a pair is `%ud800`. */
const inHeader = (id: string): string =>
  PLAIN_ID.test(id)
    ? id
    : id.replace(/(\p{Surrogate})|\P{Surrogate}+/gu, (part, half: string | undefined) =>
        half === undefined ? encodeURIComponent(part) : `%u${half.charCodeAt(0).toString(16)}`,
      )

/** The headers that differ from message to message: its id, and those of Standard Webhooks. */
const messageHeaders =
  ({ messageIdHeader, standardSecret }: WebhookOptions) =>
  ({ id }: Payload<unknown>, attempt: Attempt, body: Uint8Array): ReadonlyArray<string> => {
    const idHeader = messageIdHeader === undefined ? [] : [messageIdHeader, inHeader(id)]
    if (standardSecret === undefined) return idHeader
    const secrets = typeof standardSecret === 'function' ? askFor(standardSecret) : standardSecret
    const headers = standardHeadersOf(secrets, inHeader(id), body, clockOf(attempt).now())
    return [...idHeader, ...Object.entries(headers).flat()]
  }

/** A webhook without queue and time limit, for a destination: it has its own around it. */
export const bareWebhook = (given: WebhookOptions): Sink<Payload<unknown>> => {
  const options = checkOptions('webhook options', webhookOptions, given)
  const { url, secret, standardSecret, messageIdHeader, userAgent = 'headrace/1.0' } = options
  const signer = secret === undefined ? undefined : signerSource(secret)
  const hasHeaders = messageIdHeader !== undefined || standardSecret !== undefined
  const how = { ...options, signer, ...(hasHeaders && { headersOf: messageHeaders(options) }) }
  return postTo(new URL(url), ['User-Agent', userAgent], how, (payload) => ({ payload }))
}
