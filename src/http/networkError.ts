import { codeOf, nameOf, refused, retryable, type Refused, type Retryable } from '../core/failure.ts'

const BLOCKED = 'HEADRACE_BLOCKED_ADDRESS'
const NOT_CONNECTED = 'HEADRACE_CONNECT_TIMEOUT'
/** For all errors of a parser: those of Node's have a code that begins so, those of undici may have none. */
const NOT_HTTP = 'HPE_'

/** The egress rules forbid the address; `reason` is for people. */
export const blockedAddress = (reason: string): Error => Object.assign(new Error(reason), { code: BLOCKED })

export const notConnected = () => Object.assign(new Error('no connection in time'), { code: NOT_CONNECTED })

const CA = 'give tls.ca, or use a certificate of a public authority'
const CHAIN = `the issuer of the certificate is unknown: the receiver should send its whole chain; or ${CA}`
const NAME = 'the certificate is for another host name: use the name that it was made for'
const NOT_TLS = 'the port does not speak TLS: is it http, or another port?'
const NO_HTTP = 'the answer is not HTTP: is it https, or another port?'
const CLOSED = 'the connection was closed before an answer came'

/** Faults of a certificate: final, and no request is sent. */
const certificateDetails: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: `the certificate is self-signed: ${CA}`,
  SELF_SIGNED_CERT_IN_CHAIN: `the certificate is of a private authority: ${CA}`,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: CHAIN,
  UNABLE_TO_GET_ISSUER_CERT: CHAIN,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: CHAIN,
  ERR_TLS_CERT_ALTNAME_INVALID: NAME,
  HOSTNAME_MISMATCH: NAME,
  CERT_HAS_EXPIRED: 'the certificate has expired: the receiver needs a new one',
  CERT_NOT_YET_VALID: 'the certificate is not valid yet: check the clocks of both machines',
}

/** A receiver's alert about our certificate; the word's first half differs between versions of OpenSSL. */
const ALERT = /^ERR_SSL_\w+_ALERT_(BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_\w+|UNKNOWN_CA)$/

/** Node's other codes for a chain that does not verify. */
const OTHER_CERTIFICATE = new RegExp(
  '^(ERR_TLS_CERT_\\w+|UNABLE_TO_(GET_CRL|DE\\w+)|(ERROR_IN_)?C(ERT|RL)_\\w+|INVALID_(CA|PURPOSE)' +
    '|PATH_LENGTH_EXCEEDED|UNSPECIFIED)$',
)

/** Faults of the network: they may pass. */
const network: Readonly<Record<string, string>> = {
  Error: 'the connection failed',
  ECONNREFUSED: 'connection refused: nothing listens there',
  ECONNRESET: 'the connection was reset before an answer came',
  EPIPE: CLOSED,
  UND_ERR_SOCKET: CLOSED,
  ENOTFOUND: 'the host name does not exist: check its spelling',
  EAI_AGAIN: 'the name look-up failed for now',
  EHOSTUNREACH: 'the host cannot be reached',
  EPROTO: NOT_TLS,
  ERR_SSL_WRONG_VERSION_NUMBER: NOT_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NOT_TLS,
  UND_ERR_ABORTED: 'the proxy, or the dispatcher of the host, refused the connection',
  [NOT_HTTP]: NO_HTTP,
  // A failed check of undici: an answer after a 101, or with status 000.
  ERR_ASSERTION: NO_HTTP,
  UND_ERR_HEADERS_OVERFLOW: 'the answer has more than 16 KiB of headers',
}

const failureOfCode = (code: string, isSent: boolean): Refused | Retryable => {
  const certificate = ALERT.test(code)
    ? 'the receiver did not accept our certificate: give the tls.cert and tls.key that it wants'
    : certificateDetails[code]
  if (certificate !== undefined) return refused('certificate', { detail: certificate })
  if (OTHER_CERTIFICATE.test(code))
    return refused('certificate', { detail: `the certificate does not verify (${code})` })
  if (code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_NOT_SUPPORTED')
    return refused('badRequest', { detail: 'the request cannot be written as HTTP; nothing was sent' })
  if (code === NOT_CONNECTED || code === 'ETIMEDOUT')
    return retryable('timeout', { detail: 'no connection in time; no request was sent' })
  const detail = network[code] ?? `the connection failed (${code})`
  return retryable('network', { detail: isSent ? detail : `${detail}; no request was sent` })
}

/** Equal failures are one object, shared by all waiting events (480 to 170 bytes an event). */
const meanings = new Map<string, Refused | Retryable>()

/**
 * The failure of a network error: certificates and blocked addresses are final, the rest may pass. The words
 * are ours and not the error's, whose text may hold parts of the request. `isSent`: the receiver may have got
 * the request.
 */
export const failureOf = (error: Error, isSent: boolean): Refused | Retryable => {
  // A proxy that wants a password has the code of a request that cannot be written.
  const name = /^\w{1,60}$/.exec(nameOf(error))?.[0] ?? 'Error'
  const given = error.message.startsWith('Proxy Auth') ? 'UND_ERR_ABORTED' : codeOf(error) || name
  const code = error.name === 'HTTPParserError' || given.startsWith(NOT_HTTP) ? NOT_HTTP : given
  if (code === BLOCKED) return refused('blockedAddress', { detail: error.message })
  const key = `${code} ${String(isSent)}`
  const meaning = meanings.get(key) ?? failureOfCode(code, isSent)
  meanings.set(key, meaning)
  return meaning
}
