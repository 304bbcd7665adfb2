/**
 * How a webhook is made, and what can be wrong with that.
 *
 * @module
 */
import type { Clock } from '../clock/Clock.ts'
import type { Fault } from '../outcome/Refusal.ts'
import { type Secret, secretFrom } from '../signing/Secret.ts'
import { signerOf } from '../signing/signerOf.ts'
import { type Egress, egressFaults } from '../transport/Egress.ts'
import { headerFaults } from '../transport/headerFaults.ts'
import { type StatusTable, statusFaults } from '../transport/StatusTable.ts'
import { targetFaults } from '../transport/targetFaults.ts'
import { type TlsOptions, tlsFaults } from '../transport/Tls.ts'

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
