/** `headrace/sinks/ingestion`: a sink that posts batches to a collector. @module */
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { systemClock } from '../core/clock.ts'
import { retryable } from '../core/failure.ts'
import type { Verdict } from '../core/failure.ts'
import { checkOptions, decodeOptions, flag, option, optional, wholeNumber } from '../core/options.ts'
import type { Option } from '../core/options.ts'
import type { Fault } from '../core/refusal.ts'
import { version } from '../core/version.ts'
import type { Payload } from '../event/payload.ts'
import { secretFrom } from '../signing/secret.ts'
import { makeSink } from '../sink/layer.ts'
import type { Sink } from '../sink/sink.ts'
import { judging } from './ingestionAnswer.ts'
import { headersOption, optionsWith, urlOption } from './httpOptions.ts'
import type { RequestOptions } from './httpOptions.ts'
import { openUrlClient } from './urlClient.ts'

export type { Egress, EgressRules } from './egress.ts'
export { statusTable } from '../sink/status.ts'
export type { StatusMeaning, StatusRule, StatusTable } from '../sink/status.ts'
export type { TlsOptions } from './tls.ts'

/** How the requests are made. Every option may be left out. */
export interface IngestionOptions extends RequestOptions {
  /** Milliseconds for one request in whole: name look-up, connection, TLS, headers and body. Default 10,000. */
  readonly timeout?: number
  /** Whether requests keep the process alive. Default true; false for a program that drains before it ends. */
  readonly holds?: boolean
}

/** Where the requests go, with which key, and how. */
export interface IngestionSettings extends IngestionOptions {
  /** Http or https. Without a path it gets `/v1/batch`; another path is used as it is. */
  readonly endpoint: string | URL
  /** The source's write key. */
  readonly writeKey: string
}

const writeKeyOption: Option<string> = option('a write key', (value) => {
  if (typeof value !== 'string' || value === '') return left("is missing: it must be the source's write key")
  const secret = secretFrom(value)
  if (isLeft(secret)) return left(secret.left.message)
  // Basic authentication ends the user name at its first colon.
  return value.includes(':') ? left('must not have a colon, which would end it in the request') : right(value)
})

const ingestionSettings: Option<IngestionSettings> = optionsWith<IngestionSettings>(({ egress }) => ({
  // An endpoint may be text or a URL.
  endpoint: option('an endpoint', (value) =>
    decodeOptions(urlOption(egress), value instanceof URL ? value.href : value),
  ),
  writeKey: writeKeyOption,
  headers: optional(headersOption(['authorization', 'x-retry-count'])),
  timeout: optional(wholeNumber('ms', 1)),
  holds: optional(flag),
}))

/** What is wrong with the settings of an ingestion sink: every fault at once, each with its path, none with a value in it. */
export const ingestionFaults = (settings: unknown): ReadonlyArray<Fault> => {
  const decoded = decodeOptions(ingestionSettings, settings)
  return isLeft(decoded) ? decoded.left : []
}

/** An answer may have a line for each message of a batch. A larger one is not read: its status decides. */
const MAX_BODY = 1_000_000

/**
 * A sink that posts batches in the public tracking convention: one request a batch, with Basic authentication (the write key is the
 * user name), the exact bytes of the payload, and `X-Retry-Count`.
 *
 * Statuses and failed connections mean what they mean to a webhook, and its name is made as that of a webhook. The body of the answer is
 * read too, up to 1,000,000 bytes: a 2xx whose JSON has `"ok":false` fails the messages that it names (a `PartlyFailed`, by position; all
 * of them if it names none), and the text of a 4xx is the failure's `detail`, without the write key.
 *
 * `timeout` is for the whole request, from its start to the end of the body. If the status was 2xx and the rest stalls, breaks or is
 * too large, the batch is delivered. Deliveries beyond `connections` wait for one within that time: with `withConcurrency` around
 * the sink they wait outside of it. One bad message fails its whole batch unless `withBisection` is around it, and a `Retry-After`
 * delays no other batch unless `withRetryAfterGate` is.
 *
 * @throws ConfigError that names every wrong option, and neither the key nor a header's value.
 *
 * @example
 * import { ingestion } from 'headrace/sinks/ingestion'
 * console.log(ingestion('https://ingest.example', 'a write key').name) // => https://ingest.example/v1/batch
 */
export const ingestion = (
  endpoint: string | URL,
  writeKey: string,
  options: IngestionOptions = {},
): Sink<Payload<unknown>> => {
  const settings = checkOptions('ingestion options', ingestionSettings, { ...options, endpoint, writeKey })
  const { timeout = 10_000, clock = systemClock, holds } = settings
  const url = new URL(settings.endpoint)
  if (url.pathname === '/') url.pathname = '/v1/batch'
  url.hash = ''
  const credentials = Buffer.from(`${writeKey}:`).toString('base64')
  const fixed = ['User-Agent', `headrace-node/${version}`, 'Authorization', `Basic ${credentials}`]
  const client = openUrlClient(url, fixed, settings, timeout, holds)
  const judge = judging(writeKey, credentials)
  const timedOut: Verdict = left(retryable('timeout', { detail: `no answer within ${String(timeout)} ms` }))

  return makeSink(
    client.name,
    (payload, attempt, observer) => {
      const headers = ['X-Retry-Count', String(attempt.number - 1)]
      /** The verdict by status, while the body may say more. */
      let pending: Verdict | undefined
      const end = (verdict: Verdict | undefined): void => {
        if (verdict !== undefined) observer.next(verdict)
        observer.complete()
      }
      const cancelTimer = clock.schedule(timeout, () => end(pending ?? timedOut))
      const cancelPost = client.post(payload, attempt, undefined, headers, MAX_BODY, {
        next: (verdict) => {
          // The body of an answer that may be tried again says nothing more.
          if (verdict._tag === 'Left' && verdict.left._tag === 'Retryable') observer.next(pending ?? verdict)
          else pending ??= verdict
        },
        body: (body) => {
          if (pending !== undefined) pending = judge(pending, body, payload)
        },
        complete: () => end(pending),
      })
      return () => {
        cancelTimer()
        cancelPost()
      }
    },
    client.close,
  )
}
