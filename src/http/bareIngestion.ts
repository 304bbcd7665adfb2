import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Verdict } from '../core/failure.ts'
import { checkOptions, decodeOptions, flag, option, optional, wholeNumber } from '../core/options.ts'
import type { Option } from '../core/options.ts'
import type { Fault } from '../core/refusal.ts'
import { version } from '../core/version.ts'
import type { Payload } from '../event/payload.ts'
import { secretFrom } from '../signing/secret.ts'
import { makeLayer } from '../sink/layer.ts'
import type { Attempt, Sink } from '../sink/sink.ts'
import { withTimeout } from '../sink/timeout.ts'
import { judging } from './ingestionAnswer.ts'
import { headersOption, optionsWith, urlOption } from './httpOptions.ts'
import type { RequestOptions } from './httpOptions.ts'
import { postTo } from './post.ts'
import type { Posting } from './post.ts'

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

const retryCount = (_: Payload<unknown>, { number }: Attempt) => ['X-Retry-Count', String(number - 1)]

/** An ingestion sink without queue, for a client: it has its own. */
export const bareIngestion = (
  endpoint: string | URL,
  writeKey: string,
  options: IngestionOptions,
): Sink<Payload<unknown>> => {
  const settings = checkOptions('ingestion options', ingestionSettings, { ...options, endpoint, writeKey })
  const { timeout = 10_000 } = settings
  const url = new URL(settings.endpoint)
  if (url.pathname === '/') url.pathname = '/v1/batch'
  url.hash = ''
  const credentials = Buffer.from(`${writeKey}:`).toString('base64')
  const fixed = ['User-Agent', `headrace-node/${version}`, 'Authorization', `Basic ${credentials}`]
  const judge = judging(writeKey, credentials)
  // The time limit stands inside of what waits for the body: when it ends a body, the status decides.
  const how = { ...settings, connectWithin: timeout, headersOf: retryCount }
  const post = withTimeout(timeout)(postTo(url, fixed, how, (posting: Posting) => posting))
  return makeLayer<Posting, Payload<unknown>>(post, (subscribe) => (payload, attempt, observer) => {
    /** The verdict by status, while the body may say more. */
    let pending: Verdict | undefined
    const posting: Posting = {
      payload,
      maxBody: MAX_BODY,
      onBody: (body) => {
        if (pending !== undefined) pending = judge(pending, body, payload)
      },
    }
    return subscribe(posting, attempt, {
      next: (verdict) => {
        // The body of an answer that may be tried again says nothing more.
        if (verdict._tag === 'Left' && verdict.left._tag === 'Retryable') observer.next(verdict)
        else pending = verdict
      },
      complete: () => {
        if (pending !== undefined) observer.next(pending)
        observer.complete()
      },
      error: (defect) => observer.error(defect),
    })
  })
}
