/**
 * What is checked of a receiver before anything runs: its URL, headers and the other options that HTTP sinks share.
 *
 * @module
 */

import { left, right } from 'fp-ts/lib/Either.js'
import { checked, option } from '../core/options.ts'
import type { Option } from '../core/options.ts'
import type { Fault } from '../core/refusal.ts'
import { secretFrom } from '../signing/secret.ts'
import type { Secret } from '../signing/secret.ts'
import { signerOf } from '../signing/sign.ts'
import { egressFaults, guardOf } from './egress.ts'
import type { Egress } from './egress.ts'
import { tlsFaults } from './tls.ts'
import type { TlsOptions } from './tls.ts'

type Faults = ReadonlyArray<Fault>

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Visible ASCII, with spaces and tabs inside. Node would cut or refuse anything else at every attempt. */
const VALUE = /^([\x21-\x7e]([\t\x20-\x7e]*[\x21-\x7e])?)?$/

/** These belong to the request itself. */
const RESERVED: ReadonlySet<string> = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'x-signature',
])

/** What is wrong with a header name; undefined if nothing is. `taken` has names that cannot be set either, in lower case. */
export const nameFault = (name: string, taken: ReadonlyArray<string> = []): string | undefined => {
  if (!TOKEN.test(name)) return "is not a header name: use a-z, 0-9 and !#$%&'*+-.^_`|~"
  const folded = name.toLowerCase()
  return RESERVED.has(folded) || taken.includes(folded)
    ? 'belongs to the request and cannot be set'
    : undefined
}

/** What is wrong with a header value; undefined if nothing is. */
export const valueFault = (value: unknown): string | undefined => {
  if (typeof value !== 'string') return 'must be text'
  return VALUE.test(value)
    ? undefined
    : 'must be visible ASCII, with no line break, and with no space at its beginning or end'
}

/**
 * What is wrong with static headers: every fault at once, under the header's name, and never with its value. Undefined means no
 * headers. A name that is not valid may hold anything: its index is named instead.
 */
export const headerFaults = (headers: unknown, taken: ReadonlyArray<string> = []): Faults => {
  if (headers === undefined) return []
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers))
    return [{ path: '', message: 'must be an object of names and values' }]
  const seen = new Set<string>()
  return Object.entries(headers).flatMap(([name, value]: [string, unknown], index) => {
    const folded = name.toLowerCase()
    const twice = seen.has(folded) ? 'is given twice: case makes no difference in a header name' : undefined
    seen.add(folded)
    const path = TOKEN.test(name) ? name : `[${String(index)}]`
    return [nameFault(name, taken), valueFault(value), twice].flatMap((message) =>
      message === undefined ? [] : [{ path, message }],
    )
  })
}

/** A URL parser drops or changes these, so the text would not show which address is dialled. */
const DROPPED_OR_CHANGED = /[\s\\\p{Cc}]/u

const urlFault = (url: unknown): string | undefined => {
  if (typeof url !== 'string') return 'must be text: an http or https URL'
  if (url === '') return 'must not be empty: give an http or https URL'
  if (DROPPED_OR_CHANGED.test(url))
    return 'must not have a backslash, a control character or white space: encode it with %'
  if (!URL.canParse(url)) return 'is not a URL: it must look like https://receiver.example/hook'
  const { protocol } = new URL(url)
  return protocol === 'http:' || protocol === 'https:' ? undefined : 'must begin with http:// or https://'
}

/**
 * What is wrong with the URL of a receiver, in words that never hold the URL. A literal address is checked by the egress rules after
 * parsing, so every spelling of it is found. Rules that are wrong themselves are passed over.
 */
export const targetFaults = (url: unknown, egress?: unknown): Faults => {
  const fault = urlFault(url)
  if (fault !== undefined || typeof url !== 'string') return [{ path: '', message: fault ?? '' }]
  const { username, password, hostname } = new URL(url)
  // Rules without a fault are rules.
  const rules = egressFaults(egress).length === 0 ? (egress as Egress | undefined) : undefined
  const reason = guardOf(rules).host(hostname)
  return [
    ...(username === '' && password === ''
      ? []
      : ['must not have a user name or a password, which logs would show: give a static header instead']),
    ...(reason === undefined ? [] : [`points to an address that is not allowed: ${reason}`]),
  ].map((message) => ({ path: '', message }))
}

const NOT_A_SECRET = 'must be text, or the result of secretFrom'

/** A secret, or the text of one. */
export const secretOption: Option<Secret> = option('a secret', (value) => {
  if (typeof value === 'object' && value !== null) {
    try {
      // Only a real secret has a signer.
      signerOf(value as Secret)
      return right(value as Secret)
    } catch {
      return left(NOT_A_SECRET)
    }
  }
  const made = secretFrom(value)
  return made._tag === 'Left' ? left([made.left]) : made
})

/** The URL of a receiver, as text. The egress rules need not be checked before. */
export const urlOption = (egress: unknown): Option<string> =>
  checked<string>((value) => targetFaults(value, egress))

/** Static headers. `taken` has the names that the sink itself sets, in lower case. */
export const headersOption = (taken: ReadonlyArray<string> = []): Option<Readonly<Record<string, string>>> =>
  checked<Readonly<Record<string, string>>>((value) => headerFaults(value, taken))

export const tlsOption: Option<TlsOptions> = checked<TlsOptions>(tlsFaults)
export const egressOption: Option<Egress> = checked<Egress>(egressFaults)
