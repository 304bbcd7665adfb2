import type { SecureContext } from 'node:tls'
import { left, right, valueOr } from '../core/either.ts'
import { decodeOptions, list, option, optional, strict, type Option } from '../core/options.ts'

/** @inline */
type Pem = string | Uint8Array

/** Certificates and keys in PEM form. No option turns verification off, and no environment variable does. */
export interface TlsOptions {
  /** The authorities to trust, in place of Node's bundled roots. No environment variable adds to them. */
  readonly ca?: Pem | ReadonlyArray<Pem>
  /** Our own certificate, and those that lead to its authority, for receivers that ask for one. */
  readonly cert?: Pem
  /** The private key of `cert`. */
  readonly key?: Pem
}

/** Loaded when it is needed: an `import` reads all roots, which takes 5 ms. */
export const tlsModule = () => process.getBuiltinModule('node:tls')

const pemBytes = (pem: Pem): Buffer => Buffer.from(pem)

/** Throws if a PEM is wrong. */
const makeContext = ({ ca, cert, key }: TlsOptions): SecureContext =>
  tlsModule().createSecureContext({
    minVersion: 'TLSv1.2',
    ca: ca && [ca].flat().map(pemBytes),
    cert: cert && pemBytes(cert),
    key: key && pemBytes(key),
  })

/** Shared by all receivers: reading the roots takes 30 to 90 ms. */
let byRoots: SecureContext | undefined

/** The TLS context for a receiver. It names the roots, because the environment may add to Node's. */
export const secureContextOf = (tls: TlsOptions): SecureContext => {
  if (tls.ca !== undefined) return makeContext(tls)
  if (tls.cert !== undefined) return makeContext({ ...tls, ca: tlsModule().rootCertificates.map(pemBytes) })
  return (byRoots ??= makeContext({ ca: tlsModule().rootCertificates.map(pemBytes) }))
}

const isReadable = (tls: TlsOptions): boolean => valueOr(undefined, () => makeContext(tls)) !== undefined

const pem: Option<Pem> = option('PEM', (it) => {
  if (typeof it !== 'string' && !(it instanceof Uint8Array)) return left('must be text or bytes in PEM form')
  return pemBytes(it).includes('-----BEGIN ') ? right(it) : left('must be PEM text, not the name of a file')
})

/** Node accepts an authority that it cannot read, and then trusts nothing: as `cert` it is refused. */
const certificate: Option<Pem> = option('a certificate', (value) => {
  const decoded = decodeOptions(pem, value)
  if (decoded._tag === 'Left' || isReadable({ cert: decoded.right })) return decoded
  return left('cannot be read as a certificate')
})

const authorityList = list('certificates', 1, Infinity, certificate)
const authorities = option<Pem | ReadonlyArray<Pem>>('authorities', (value) =>
  decodeOptions<Pem | ReadonlyArray<Pem>>(Array.isArray(value) ? authorityList : certificate, value),
)

/** No fault holds a part of a key. */
export const tlsOption: Option<TlsOptions> = strict(
  { ca: optional(authorities), cert: optional(certificate), key: optional(pem) },
  (tls) => {
    const missing = tls.cert === undefined ? 'cert' : 'key'
    if ((tls.cert === undefined) !== (tls.key === undefined))
      return [{ path: missing, message: 'is missing: cert and key belong together' }]
    if (isReadable(tls)) return []
    return [{ path: 'key', message: 'cannot be read, is encrypted, or does not belong to cert' }]
  },
)
