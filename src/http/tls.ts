import { createSecureContext } from 'node:tls'
import type { SecureContext } from 'node:tls'
import type { Fault } from '../core/refusal.ts'

/** Certificates and keys in PEM form. No option turns verification off, and no environment variable does. */
export interface TlsOptions {
  /** The authorities to trust, in place of the public ones. */
  readonly ca?: string | Uint8Array | ReadonlyArray<string | Uint8Array>
  /** Our own certificate, and those that lead to its authority, for receivers that ask for one. */
  readonly cert?: string | Uint8Array
  /** The private key of `cert`. */
  readonly key?: string | Uint8Array
}

const bytes = (pem: string | Uint8Array): Buffer => Buffer.from(pem)

/** The context that connections to one receiver share: reading the authorities takes milliseconds. Throws if a PEM is wrong. */
export const secureContextOf = ({ ca, cert, key }: TlsOptions): SecureContext =>
  createSecureContext({
    minVersion: 'TLSv1.2',
    ...(ca === undefined
      ? {}
      : { ca: typeof ca === 'string' || ca instanceof Uint8Array ? bytes(ca) : ca.map(bytes) }),
    ...(cert === undefined ? {} : { cert: bytes(cert) }),
    ...(key === undefined ? {} : { key: bytes(key) }),
  })

const isReadable = (options: TlsOptions): boolean => {
  try {
    secureContextOf(options)
    return true
  } catch {
    return false
  }
}

const pemFault = (value: unknown, path: string): ReadonlyArray<Fault> => {
  if (typeof value !== 'string' && !(value instanceof Uint8Array))
    return [{ path, message: 'must be text or bytes in PEM form' }]
  if (!bytes(value).includes('-----BEGIN '))
    return [{ path, message: 'must be the contents of a PEM file, not its name' }]
  // Node accepts an authority that it cannot read, and then trusts nothing: as `cert` it is refused.
  if (path !== 'key' && !isReadable({ cert: value }))
    return [{ path, message: 'cannot be read as a certificate' }]
  return []
}

/**
 * What is wrong with TLS options; undefined means none. Unknown keys are faults: `rejectUnauthorized: false` would seem to have an
 * effect. No fault holds a part of a key.
 */
export const tlsFaults = (tls: unknown): ReadonlyArray<Fault> => {
  if (tls === undefined) return []
  if (typeof tls !== 'object' || tls === null)
    return [{ path: '', message: 'must be an object with ca, cert or key' }]
  const given = new Map<string, unknown>(Object.entries(tls).filter(([, value]) => value !== undefined))
  const faults: Fault[] = []
  for (const [path, value] of given) {
    if (path === 'ca' && Array.isArray(value))
      faults.push(...value.flatMap((each: unknown) => pemFault(each, path)))
    else if (path === 'ca' || path === 'cert' || path === 'key') faults.push(...pemFault(value, path))
    else faults.push({ path, message: 'is unknown: use ca, cert and key; verification stays on' })
  }
  if (given.has('cert') !== given.has('key'))
    faults.push({
      path: given.has('cert') ? 'key' : 'cert',
      message: 'is missing: cert and key belong together',
    })
  if (faults.length > 0 || isReadable(tls)) return faults
  return [{ path: 'key', message: 'cannot be read, is encrypted, or does not belong to cert' }]
}
