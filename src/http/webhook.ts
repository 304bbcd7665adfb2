/**
 * A payload as it is sent. The sinks of one round share it, so that a body is written and signed once, not once for each URL
 * (for five URLs that is 15 to 30 % of the whole cost).
 *
 * @module
 */

import { systemClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import type { Fault } from '../core/refusal.ts'
import { bytesOf } from '../event/payload.ts'
import type { Payload, Signer } from '../event/payload.ts'
import { secretFrom } from '../signing/secret.ts'
import type { Secret } from '../signing/secret.ts'
import { signerOf } from '../signing/sign.ts'
import { nameOf } from '../sink/fromFunction.ts'
import { fromRun, nothingToCancel } from '../sink/layer.ts'
import type { Round, Wire, Sink } from '../sink/sink.ts'
import { statusFaults } from '../sink/status.ts'
import type { StatusTable } from '../sink/status.ts'
import { egressFaults } from './egress.ts'
import type { Egress } from './egress.ts'
import { openLane } from './lane.ts'
import type { LanePost } from './lane.ts'
import { headerFaults, targetFaults } from './target.ts'
import { tlsFaults } from './tls.ts'
import type { TlsOptions } from './tls.ts'

const made = (payload: Payload<unknown>, now: number): Wire => ({
  payload,
  bytes: bytesOf(payload, now),
  signatures: [],
})

/** A payload as it is sent at `now` (milliseconds since 1970): the round's own if there is one. */
export const wireOf = (payload: Payload<unknown>, round: Round | undefined, now: number): Wire => {
  if (round === undefined) return made(payload, now)
  if (round.wire?.payload !== payload) round.wire = made(payload, now)
  return round.wire
}

/** The signature of its bytes. */
export const signatureOf = (wire: Wire, signer: Signer): string => {
  for (const known of wire.signatures) if (known.signer === signer) return known.signature
  const signature = signer(wire.bytes)
  wire.signatures.push({ signer, signature })
  return signature
}

/** Where a webhook goes, and how. Only the URL is needed. */
export interface WebhookOptions {
  /** Http or https; without credentials, white space, control characters and backslashes (DE11). */
  readonly url: string
  /** Static headers, for this URL only: visible ASCII, and none of those that belong to the request (DE11). */
  readonly headers?: Readonly<Record<string, string>>
  /** Signs the body of every request, in place of the secret that the payload was signed with (DE10). */
  readonly secret?: Secret | string
  /** Authorities to trust, and our own certificate. Verification cannot be turned off. */
  readonly tls?: TlsOptions
  /** What a status means. Default: `statusTable` (DE2). */
  readonly statuses?: StatusTable
  /** What may be dialled. Default: all but link-local and cloud metadata addresses (DE13). */
  readonly egress?: Egress
  /** Requests at a time, each on a connection of its own. Default 16 (DE8). */
  readonly connections?: number
  /** Milliseconds to look up the name, connect and agree on TLS. Default 5,000. */
  readonly connectWithin?: number
  /** The name of a header that carries the message id, for receivers that deduplicate. Default: none is sent (EV2). */
  readonly messageIdHeader?: string
  /** Default `headrace/1.0` (DE12). */
  readonly userAgent?: string
  readonly clock?: Clock
}

type Faults = ReadonlyArray<Fault>
type Check = (value: unknown, options: Partial<WebhookOptions>) => Faults

const one = (message: string): Faults => [{ path: '', message }]

const wholeNumber: Check = (value) =>
  value === undefined || (Number.isSafeInteger(value) && Number(value) >= 1)
    ? []
    : one('must be a whole number from 1')

const secret: Check = (value) => {
  if (value === undefined) return []
  if (typeof value === 'object' && value !== null) {
    try {
      // Whatever it is, only a real secret has a signer.
      signerOf(value as Secret)
      return []
    } catch {
      return one('must be text, or what secretFrom made')
    }
  }
  const made = secretFrom(value)
  return made._tag === 'Left' ? [made.left] : []
}

const url: Check = (value, { egress }) =>
  targetFaults(value, egressFaults(egress).length === 0 ? egress : undefined)

const messageIdHeader: Check = (name, { headers }) => {
  if (name === undefined) return []
  if (typeof name !== 'string') return one('must be the name of a header')
  const [fault] = headerFaults({ [name]: 'id' })
  if (fault !== undefined) return one(fault.message)
  const same = Object.keys(headers ?? {}).some((each) => each.toLowerCase() === name.toLowerCase())
  return same ? one('is one of the static headers too') : []
}

const userAgent: Check = (value) => {
  if (value === undefined) return []
  if (value === '') return one('must not be empty')
  return headerFaults({ Agent: value }).map(({ message }) => ({ path: '', message }))
}

const clock: Check = (value) =>
  value === undefined || (typeof value === 'object' && value !== null && 'schedule' in value)
    ? []
    : one('must be a Clock')

const checks: Readonly<Record<keyof WebhookOptions, Check>> = {
  url,
  headers: headerFaults,
  secret,
  tls: tlsFaults,
  statuses: statusFaults,
  egress: egressFaults,
  connections: wholeNumber,
  connectWithin: wholeNumber,
  messageIdHeader,
  userAgent,
  clock,
}

const within = (name: string, path: string): string => {
  if (path === '') return name
  return path.startsWith('[') ? name + path : `${name}.${path}`
}

/** What is wrong with the options of a webhook: every fault at once, none with a value in it (DE11). */
export const webhookFaults = (options: unknown): Faults => {
  if (typeof options !== 'object' || options === null) return one('must be a URL, or an object with a url')
  const known = new Set(Object.keys(checks))
  const unknown = Object.keys(options)
    .filter((key) => !known.has(key))
    .map((path) => ({ path, message: 'is no option of a webhook' }))
  const given: Partial<Record<string, unknown>> = { ...options }
  const wrong = Object.entries(checks).flatMap(([name, check]) =>
    check(given[name], options).map(({ path, message }) => ({ path: within(name, path), message })),
  )
  return [...wrong, ...unknown]
}

export type { Egress, EgressRules } from './egress.ts'
export { statusTable } from '../sink/status.ts'
export type { StatusMeaning, StatusRule, StatusTable } from '../sink/status.ts'
export type { TlsOptions } from './tls.ts'

const checked = (target: string | WebhookOptions): WebhookOptions => {
  const options = typeof target === 'string' ? { url: target } : target
  const faults = webhookFaults(options)
  if (faults.length === 0) return options
  const lines = faults.map(({ path, message }) => (path === '' ? message : `${path} ${message}`))
  throw new TypeError(`a webhook cannot be made like this: ${lines.join('; ')}`)
}

const VISIBLE = /^[\x21-\x7e]+$/

/** An id may hold anything, a header may not: what is not visible ASCII is percent-encoded. */
const inHeader = (id: string): string =>
  VISIBLE.test(id) ? id : encodeURIComponent(Buffer.from(id).toString())

/**
 * A sink that posts each payload to a URL as JSON. Its verdict is the status, out as soon as the status line is there; it
 * completes when the rest of the answer, of which it reads at most 16 KiB, is read or dropped. Unsubscribing destroys the socket.
 *
 * Any 2xx is delivered; 408, 425, 429, 5xx, and a connection that fails or breaks may be tried again; a redirect, any other 4xx, a
 * certificate that does not verify and a forbidden address are final (DE2, DE13). It never follows a redirect, never
 * inflates, and sends nothing at or after `attempt.until`. It has no time limit of its own but for connecting: put it
 * into `withTimeout(5_000)` (DE3).
 *
 * Its name is the URL up to the query, with a hash of the query if there is one.
 *
 * @throws TypeError naming everything that is wrong with the options, and no secret or header value.
 *
 * @example
 * import { webhook } from 'headrace/sinks/webhook'
 * const sink = webhook({ url: 'https://receiver.example/hook?token=1', headers: { 'X-Api-Key': 'k' }, secret: 'correct horse' })
 * console.log(sink.name) // => https://receiver.example/hook?b35c04b9
 */
export const webhook = (target: string | WebhookOptions): Sink<Payload<unknown>> => {
  const options = checked(target)
  const { headers = {}, secret, messageIdHeader, userAgent = 'headrace/1.0', clock = systemClock } = options
  const url = new URL(options.url)
  const name = nameOf(url)
  const own: Signer | undefined = secret === undefined ? undefined : signerOf(secret)
  const lane = openLane({ ...options, clock, url, name })
  const fixed = [
    ...['Content-Type', 'application/json', 'User-Agent', userAgent],
    ...Object.entries(headers).flat(),
  ]

  const headersOf = (payload: Payload<unknown>, wire: Wire): string[] => {
    const signer = own ?? payload.signer
    const all = [...fixed]
    if (signer !== undefined) all.push('X-Signature', signatureOf(wire, signer))
    if (messageIdHeader !== undefined) all.push(messageIdHeader, inHeader(payload.id))
    return all
  }

  return fromRun(
    name,
    (payload, attempt, receiver) => {
      let post: LanePost
      try {
        const wire = wireOf(payload, attempt.round, clock.now())
        post = { headers: headersOf(payload, wire), body: wire.bytes, until: attempt.until }
      } catch (defect) {
        // A frame or a signer may be somebody else's.
        receiver.error(defect)
        return nothingToCancel
      }
      return lane.post(post, receiver)
    },
    lane.close,
  )
}
