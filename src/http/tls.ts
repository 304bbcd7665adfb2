/**
 * What a host may say about TLS. There is no switch that turns verification off, and the environment has none either (DE11).
 *
 * @module
 */

import { createSecureContext } from 'node:tls'
import type { SecureContext } from 'node:tls'
import type { Fault } from '../core/refusal.ts'

/** Certificates and keys in PEM form. */
export interface TlsOptions {
  /** The authorities to trust, in place of the public ones. */
  readonly ca?: string | Uint8Array | ReadonlyArray<string | Uint8Array>
  /** Our own certificate, and those that lead to its authority, for receivers that ask for one. */
  readonly cert?: string | Uint8Array
  /** The private key of `cert`. */
  readonly key?: string | Uint8Array
}

const bytes = (pem: string | Uint8Array): Buffer => Buffer.from(pem)

/** What connections to one receiver share: reading the authorities costs milliseconds, so it is done once. Throws if a PEM is bad. */
export const secureContextOf = ({ ca, cert, key }: TlsOptions): SecureContext =>
  createSecureContext({
    minVersion: 'TLSv1.2',
    ...(ca === undefined
      ? {}
      : { ca: typeof ca === 'string' || ca instanceof Uint8Array ? bytes(ca) : ca.map(bytes) }),
    ...(cert === undefined ? {} : { cert: bytes(cert) }),
    ...(key === undefined ? {} : { key: bytes(key) }),
  })

const isPem = (value: unknown): value is string | Uint8Array =>
  typeof value === 'string' || value instanceof Uint8Array

const parts = ['ca', 'cert', 'key'] as const

const readable = (options: TlsOptions): boolean => {
  try {
    secureContextOf(options)
    return true
  } catch {
    return false
  }
}

const BEGIN = '-----BEGIN '

/** Node takes a broken authority without a word and then trusts nobody; read as a certificate, it is refused. */
const isCertificate = (cert: string | Uint8Array): boolean => readable({ cert })

const pemFault = (value: unknown, path: string): ReadonlyArray<Fault> => {
  if (!isPem(value)) return [{ path, message: 'must be text or bytes in PEM form' }]
  if (!Buffer.from(value).includes(BEGIN))
    return [{ path, message: 'is no PEM: it must hold the contents of the file, not its name' }]
  if (path !== 'key' && !isCertificate(value)) return [{ path, message: 'cannot be read as a certificate' }]
  return []
}

/**
 * What is wrong with TLS options; undefined stands for none. Unknown keys are faults, so that nobody believes that
 * `rejectUnauthorized: false` had done something. No fault holds a part of a key.
 */
export const tlsFaults = (tls: unknown): ReadonlyArray<Fault> => {
  if (tls === undefined) return []
  if (typeof tls !== 'object' || tls === null)
    return [{ path: '', message: 'must be an object with ca, cert or key' }]
  const given = new Map<string, unknown>(Object.entries(tls).filter(([, value]) => value !== undefined))
  const faults: Fault[] = []
  for (const name of given.keys()) {
    if (!parts.some((part) => part === name))
      faults.push({
        path: name,
        message: 'is not known here: there are ca, cert and key, and verification stays on',
      })
  }
  const ca = given.get('ca')
  if (ca !== undefined)
    for (const each of Array.isArray(ca) ? (ca as unknown[]) : [ca]) faults.push(...pemFault(each, 'ca'))
  for (const part of ['cert', 'key'] as const)
    if (given.has(part)) faults.push(...pemFault(given.get(part), part))
  if (given.has('cert') !== given.has('key'))
    faults.push({
      path: given.has('cert') ? 'key' : 'cert',
      message: 'is missing: cert and key belong together',
    })
  if (faults.length > 0) return faults
  // Every part was looked at above: each is text or bytes.
  if (readable(tls)) return []
  return [{ path: 'key', message: 'cannot be read, is encrypted, or does not belong to cert' }]
}
