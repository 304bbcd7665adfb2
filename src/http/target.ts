import type { Fault } from '../core/refusal.ts'
import { guardOf } from './egress.ts'
import type { Egress } from './egress.ts'

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Visible ASCII, with spaces and tabs inside. Anything else would be cut, sent as Latin-1, or thrown at for every attempt. */
const VALUE = /^([\x21-\x7e]([\t\x20-\x7e]*[\x21-\x7e])?)?$/

/** These belong to the request itself. */
const reserved: ReadonlySet<string> = new Set([
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

const nameFault = (name: string): string | undefined => {
  if (!TOKEN.test(name)) return "is no header name: use letters, digits and !#$%&'*+-.^_`|~"
  if (reserved.has(name.toLowerCase())) return 'belongs to the request and cannot be set'
  return undefined
}

const valueFault = (value: unknown): string | undefined => {
  if (typeof value !== 'string') return 'must be text'
  if (!VALUE.test(value))
    return 'must be visible ASCII, with no line break, and with no space at its beginning or end'
  return undefined
}

/**
 * What is wrong with static headers (DE11; webhooks/S17 to S22): every fault at once, under the header's name, and never
 * with its value. Undefined stands for no headers. A name that is none is not repeated, for it may hold anything: its place is told.
 */
export const headerFaults = (headers: unknown): ReadonlyArray<Fault> => {
  if (headers === undefined) return []
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers))
    return [{ path: '', message: 'must be an object of names and values' }]
  const faults: Fault[] = []
  const seen = new Set<string>()
  Object.entries(headers).forEach(([name, value]: [string, unknown], at) => {
    const path = TOKEN.test(name) ? name : `[${String(at)}]`
    for (const message of [nameFault(name), valueFault(value)]) {
      if (message !== undefined) faults.push({ path, message })
    }
    const folded = name.toLowerCase()
    if (seen.has(folded))
      faults.push({ path, message: 'is there twice: case makes no difference in a header name' })
    seen.add(folded)
  })
  return faults
}

/** A parser drops or bends these without a word, so what one reads would not be what is dialled (webhooks/S14). */
const INVISIBLE_OR_BENT = /[\s\\\p{Cc}]/u

const fault = (message: string): ReadonlyArray<Fault> => [{ path: '', message }]

const parsed = (text: string): URL | undefined => {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/**
 * What is wrong with the URL of a receiver (DE11), each in words that never hold the URL: it must be http or https, without
 * credentials, and hold no backslash, control or white-space character. A literal address is judged by the egress rules
 * after parsing, so no spelling of it helps (webhooks/S1 to S5). None: a URL that can be dialled.
 *
 * @param egress What may be dialled (DE13); the default refuses link-local and cloud metadata addresses.
 */
export const targetFaults = (url: unknown, egress: Egress = 'network'): ReadonlyArray<Fault> => {
  if (typeof url !== 'string') return fault('must be text: an http or https URL')
  if (url === '') return fault('must not be empty: give an http or https URL')
  if (INVISIBLE_OR_BENT.test(url))
    return fault('must not hold a backslash, a control character or white space: encode it with %')
  const target = parsed(url)
  if (target === undefined) return fault('is no URL: it must look like https://receiver.example/hook')
  if (target.protocol !== 'http:' && target.protocol !== 'https:')
    return fault('must begin with http:// or https://')
  const faults: Fault[] = []
  if (target.username !== '' || target.password !== '')
    faults.push({
      path: '',
      message:
        'must not hold a user name or a password, which would show in logs: give a static header instead',
    })
  const why = guardOf(egress).host(target.hostname)
  if (why !== undefined)
    faults.push({ path: '', message: `points to an address that is not allowed: ${why}` })
  return faults
}
