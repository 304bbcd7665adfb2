import type { Fault } from '../outcome/Refusal.ts'

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
