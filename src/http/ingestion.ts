/**
 * How a sink for a batch endpoint is made, and what can be wrong with that.
 *
 * @module
 */

import { left } from 'fp-ts/lib/Either.js'
import { systemClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import { retryable } from '../core/failure.ts'
import type { Verdict } from '../core/failure.ts'
import { ConfigError } from '../core/refusal.ts'
import type { Fault } from '../core/refusal.ts'
import { version } from '../core/version.ts'
import type { Payload } from '../event/payload.ts'
import { nameOf } from '../sink/fromFunction.ts'
import { fromRun, nothingToCancel } from '../sink/layer.ts'
import type { Receiver } from '../sink/layer.ts'
import type { Attempt, Sink } from '../sink/sink.ts'
import { statusFaults } from '../sink/status.ts'
import type { StatusTable } from '../sink/status.ts'
import { egressFaults } from './egress.ts'
import type { Egress } from './egress.ts'
import { explained, judged, redacting } from './ingestionAnswer.ts'
import { openLane } from './lane.ts'
import type { LanePost } from './lane.ts'
import { headerFaults, targetFaults } from './target.ts'
import { tlsFaults } from './tls.ts'
import type { TlsOptions } from './tls.ts'
import { signatureOf, wireOf } from './webhook.ts'

/** How the requests are made. Nothing of it is needed. */
export interface IngestionOptions {
  /** Milliseconds for one request in whole: name look-up, connection, TLS, headers and body. Default 10,000 (CL4). */
  readonly timeout?: number
  /** Requests at a time, each on a connection of its own. Default 16. */
  readonly connections?: number
  /** Static headers: visible ASCII, and none of those that belong to the request (DE11). */
  readonly headers?: Readonly<Record<string, string>>
  /** Authorities to trust, and our own certificate. Verification cannot be turned off. */
  readonly tls?: TlsOptions
  /** What may be dialled. Default: all but link-local and cloud metadata addresses (DE13). */
  readonly egress?: Egress
  /** What a status means. Default: `statusTable` (DE2). */
  readonly statuses?: StatusTable
  readonly clock?: Clock
  /** Whether requests keep the process alive. Default true; false for who drains at the end of the program (CL7). */
  readonly holds?: boolean
}

/** All that can be wrong: where the requests go, as whom, and how. */
export interface IngestionSettings extends IngestionOptions {
  /** Http or https. Without a path, `/v1/batch` is put; a path of its own stays as it is (CO4). */
  readonly endpoint: string | URL
  /** The source's write key. */
  readonly writeKey: string
}

type Faults = ReadonlyArray<Fault>
type Check = (value: unknown, settings: Partial<IngestionSettings>) => Faults

const one = (message: string): Faults => [{ path: '', message }]

const wholeNumber: Check = (value) =>
  value === undefined || (Number.isSafeInteger(value) && Number(value) >= 1)
    ? []
    : one('must be a whole number from 1')

const endpoint: Check = (value, { egress }) =>
  targetFaults(
    value instanceof URL ? value.href : value,
    egressFaults(egress).length === 0 ? egress : undefined,
  )

const UNREADABLE = /[\p{Cc}\p{Surrogate}]/u

/** Basic authentication ends the user name at its first colon. */
const writeKey: Check = (value) => {
  if (value === undefined || value === '') return one("is missing: it must be the source's write key")
  if (typeof value !== 'string') return one('must be a string')
  if (value.trim() !== value)
    return one('must not begin or end with white space, such as the newline at the end of a file')
  if (value.includes(':')) return one('must not hold a colon, which would end it in the request')
  return UNREADABLE.test(value) ? one('must hold no control character and no half of a surrogate pair') : []
}

/** Beside those that no receiver may be sent as static headers. */
const OWN = new Set(['authorization', 'x-retry-count'])

const headers: Check = (value) => {
  const faults = headerFaults(value)
  if (typeof value !== 'object' || value === null) return faults
  const taken = Object.keys(value).filter((name) => OWN.has(name.toLowerCase()))
  return [...faults, ...taken.map((path) => ({ path, message: 'belongs to the request and cannot be set' }))]
}

const clock: Check = (value) =>
  value === undefined || (typeof value === 'object' && value !== null && 'schedule' in value)
    ? []
    : one('must be a Clock')

const checks: Readonly<Record<keyof IngestionSettings, Check>> = {
  endpoint,
  writeKey,
  timeout: wholeNumber,
  connections: wholeNumber,
  headers,
  tls: tlsFaults,
  egress: egressFaults,
  statuses: statusFaults,
  clock,
  holds: (value) => (value === undefined || typeof value === 'boolean' ? [] : one('must be true or false')),
}

const within = (name: string, path: string): string => {
  if (path === '') return name
  return path.startsWith('[') ? name + path : `${name}.${path}`
}

/** What is wrong with the settings of an ingestion sink: every fault at once, each with its path, none with a value in it (DE11). */
export const ingestionFaults = (settings: unknown): Faults => {
  if (typeof settings !== 'object' || settings === null)
    return one('must be an object with an endpoint and a writeKey')
  const known = new Set(Object.keys(checks))
  const unknown = Object.keys(settings)
    .filter((key) => !known.has(key))
    .map((path) => ({ path, message: 'is no option of an ingestion sink' }))
  const given: Partial<Record<string, unknown>> = { ...settings }
  const wrong = Object.entries(checks).flatMap(([name, check]) =>
    check(given[name], settings).map(({ path, message }) => ({ path: within(name, path), message })),
  )
  return [...wrong, ...unknown]
}

/** The URL that an endpoint stands for. It must have no faults. */
export const targetOf = (endpoint: string | URL): URL => {
  const url = new URL(endpoint)
  if (url.pathname === '/') url.pathname = '/v1/batch'
  url.hash = ''
  return url
}

export type { Egress, EgressRules } from './egress.ts'
export { statusTable } from '../sink/status.ts'
export type { StatusMeaning, StatusRule, StatusTable } from '../sink/status.ts'
export type { TlsOptions } from './tls.ts'

/** An answer may have a line for each message of a batch. What has more than this is not read: its status decides. */
const MOST_BODY = 1_000_000

/** Whether the body of the answer may say more than its status: who was refused in a batch that was taken, and why a refusal. */
const waitsForBody = (verdict: Verdict): boolean =>
  verdict._tag === 'Right' || (verdict.left._tag === 'Refused' && verdict.left.reason === 'status')

/**
 * A sink that posts batches in the public tracking convention: one request a batch, with Basic authentication (the write key is the
 * user name), the exact bytes of the payload, and `X-Retry-Count` (CL4, CO4, DE12).
 *
 * Statuses mean what they mean to a webhook (DE2): any 2xx is delivered; 408, 425, 429, 5xx, and a connection that fails or breaks
 * may be tried again; a redirect, any other 4xx, a certificate that does not verify and a forbidden address are final. The body of
 * the answer is read too, up to 1,000,000 bytes: a 2xx whose JSON says `"ok":false` fails the messages that it names (a `PartlyFailed`, by
 * position; all of them if it names none), and what a 4xx says stands in the failure's `detail`, without the write key.
 *
 * A request has `timeout` in whole, from its start to the end of the body. If the status was 2xx and the rest stalls, breaks or is
 * too large, the batch is delivered. Deliveries beyond `connections` wait for one within that time: to let them wait outside of it, put the
 * sink into `withConcurrency`. One bad message costs its whole batch unless `withBisection` is around it, and a `Retry-After` holds back
 * no other batch unless `withRetryAfterGate` is.
 *
 * Its name is the URL up to the query, with a hash of the query if there is one.
 *
 * @throws ConfigError naming everything that is wrong, and neither the key nor a header's value.
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
  const faults = ingestionFaults({ ...options, endpoint, writeKey })
  if (faults.length > 0) throw new ConfigError('an ingestion sink cannot be made like this', faults)
  const { timeout = 10_000, headers = {}, clock = systemClock } = options
  const url = targetOf(endpoint)
  const name = nameOf(url)
  const credentials = Buffer.from(`${writeKey}:`).toString('base64')
  const redact = redacting(writeKey, credentials)
  const lane = openLane({ ...options, clock, url, name, connectWithin: timeout })
  const fixed = [
    ...['Content-Type', 'application/json', 'User-Agent', `headrace-node/${version}`],
    ...['Authorization', `Basic ${credentials}`],
    ...Object.entries(headers).flat(),
  ]
  const timedOut: Verdict = left(retryable('timeout', { detail: `no answer within ${String(timeout)} ms` }))

  const postOf = (payload: Payload<unknown>, attempt: Attempt): LanePost => {
    const wire = wireOf(payload, attempt.round, clock.now())
    const all = [...fixed, 'X-Retry-Count', String(attempt.number - 1)]
    if (payload.signer !== undefined) all.push('X-Signature', signatureOf(wire, payload.signer))
    return { headers: all, body: wire.bytes, until: attempt.until, mostBody: MOST_BODY }
  }

  const spoken = (verdict: Verdict, body: Buffer, payload: Payload<unknown>): Verdict =>
    verdict._tag === 'Left' && verdict.left._tag === 'Refused'
      ? explained(verdict.left, body, redact)
      : judged(verdict, body, payload, redact)

  return fromRun(
    name,
    (payload, attempt, receiver) => {
      let post: LanePost
      try {
        post = postOf(payload, attempt)
      } catch (defect) {
        // A frame or a signer may be somebody else's.
        receiver.error(defect)
        return nothingToCancel
      }
      /** Who is told; undefined when the delivery is over or cancelled. */
      let to: Receiver | undefined = receiver
      let told = false
      /** What the status says, as long as the body may say more. */
      let pending: Verdict | undefined

      const onEvent = (verdict: Verdict): void => {
        if (told) return
        told = true
        to?.next(verdict)
      }
      const finish = (): void => {
        stopTimer()
        if (pending !== undefined) onEvent(pending)
        const last = to
        to = undefined
        last?.complete()
      }
      const stopTimer = clock.schedule(timeout, () => {
        cancelPost()
        onEvent(pending ?? timedOut)
        finish()
      })
      const cancelPost = lane.post(post, {
        next: (verdict) => {
          if (waitsForBody(verdict)) pending = verdict
          else onEvent(verdict)
        },
        body: (body) => {
          if (pending !== undefined) onEvent(spoken(pending, body, payload))
        },
        complete: finish,
      })
      return () => {
        to = undefined
        stopTimer()
        cancelPost()
      }
    },
    lane.close,
  )
}
