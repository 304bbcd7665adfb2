/**
 * How a sink for a batch endpoint is made, and what can be wrong with that.
 *
 * @module
 */
import type { Clock } from '../clock/Clock.ts'
import type { Fault } from '../outcome/Refusal.ts'
import { type Egress, egressFaults } from '../transport/Egress.ts'
import { headerFaults } from '../transport/headerFaults.ts'
import { type StatusTable, statusFaults } from '../transport/StatusTable.ts'
import { targetFaults } from '../transport/targetFaults.ts'
import { type TlsOptions, tlsFaults } from '../transport/Tls.ts'

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
