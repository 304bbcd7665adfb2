import { left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../core/clock.ts'
import { clockOption, decodeOptions, option, optional, strict, wholeNumber } from '../core/options.ts'
import type { Option } from '../core/options.ts'
import type { Fault } from '../core/refusal.ts'
import type { Secret } from '../signing/secret.ts'
import { statusesOption } from '../sink/status.ts'
import type { StatusTable } from '../sink/status.ts'
import type { Egress } from './egress.ts'
import {
  egressOption,
  headersOption,
  nameFault,
  secretOption,
  tlsOption,
  urlOption,
  valueFault,
} from './target.ts'
import type { TlsOptions } from './tls.ts'

/** Where a webhook goes, and how. Only the URL is needed. */
export interface WebhookOptions {
  /** Http or https; without credentials, white space, control characters and backslashes. */
  readonly url: string
  /** Static headers, for this URL only: visible ASCII, and none of those that belong to the request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Signs the body of every request, in place of the secret that the payload was signed with. */
  readonly secret?: Secret | string
  /** Authorities to trust, and our own certificate. Verification cannot be turned off. */
  readonly tls?: TlsOptions
  /** What a status means. Default: `statusTable`. */
  readonly statuses?: StatusTable
  /** Which addresses are dialled. Default: all but link-local and cloud metadata addresses. */
  readonly egress?: Egress
  /** Requests at a time, each on a connection of its own. Default 16. */
  readonly connections?: number
  /** Milliseconds to look up the name, connect and agree on TLS. Default 5,000. */
  readonly connectWithin?: number
  /** The name of a header that carries the message id, for receivers that deduplicate. Default: none is sent. */
  readonly messageIdHeader?: string
  /** Default `headrace/1.0`. */
  readonly userAgent?: string
  readonly clock?: Clock
}

const headerName: Option<string> = option('a header name', (value) => {
  if (typeof value !== 'string') return left('must be the name of a header')
  const fault = nameFault(value)
  return fault === undefined ? right(value) : left(fault)
})

const userAgent: Option<string> = option('a header value', (value) => {
  const fault = value === '' ? 'must not be empty' : valueFault(value)
  // A value without a fault is text.
  return fault === undefined ? right(value as string) : left(fault)
})

/** The options of a webhook. The URL is checked by the egress rules that are given with it. */
export const webhookOptions = (egress: unknown): Option<WebhookOptions> =>
  strict(
    {
      url: urlOption(egress),
      headers: optional(headersOption()),
      secret: optional(secretOption),
      tls: optional(tlsOption),
      statuses: optional(statusesOption),
      egress: optional(egressOption),
      connections: optional(wholeNumber('connections', 1)),
      connectWithin: optional(wholeNumber('ms', 1)),
      messageIdHeader: optional(headerName),
      userAgent: optional(userAgent),
      clock: optional(clockOption),
    },
    ({ headers = {}, messageIdHeader: name = '' }) =>
      Object.keys(headers).some((each) => each.toLowerCase() === name.toLowerCase())
        ? [{ path: 'messageIdHeader', message: 'is one of the static headers too' }]
        : [],
  )

/** What is wrong with the options of a webhook: every fault at once, none with a value in it. */
export const webhookFaults = (options: unknown): ReadonlyArray<Fault> => {
  const egress: unknown =
    typeof options === 'object' && options !== null && 'egress' in options ? options.egress : undefined
  const decoded = decodeOptions(webhookOptions(egress), options)
  return decoded._tag === 'Left' ? decoded.left : []
}
