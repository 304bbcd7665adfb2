import type { Fault } from '../outcome/Refusal.ts'
import { type Egress, guardOf } from './Egress.ts'

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
