import { refused, retryable } from '../core/failure.ts'
import type { Refused, Retryable } from '../core/failure.ts'

const BLOCKED = 'HEADRACE_BLOCKED_ADDRESS'
const NOT_CONNECTED = 'HEADRACE_CONNECT_TIMEOUT'

/** An error of this package that passes through undici. */
export interface NetworkError extends Error {
  readonly code: string
}

const networkError = (code: string, message: string): NetworkError =>
  Object.assign(new Error(message), { code })

/** The egress rules forbid the address; `reason` is for people. */
export const blockedAddress = (reason: string): NetworkError => networkError(BLOCKED, reason)

/** The time to connect is over. */
export const notConnected = (): NetworkError => networkError(NOT_CONNECTED, 'no connection in time')

const CA = 'give tls.ca, or use a certificate of a public authority'
const CLIENT = 'the receiver did not accept our certificate: give the tls.cert and tls.key that it wants'
const CHAIN = `the issuer of the certificate is unknown: the receiver should send its whole chain; or ${CA}`

/** Faults of a certificate: final, and no request is sent. */
const certificates: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: `the certificate is self-signed: ${CA}`,
  SELF_SIGNED_CERT_IN_CHAIN: `the certificate is of a private authority: ${CA}`,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: CHAIN,
  UNABLE_TO_GET_ISSUER_CERT: CHAIN,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: CHAIN,
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host name: use the name that it was made for',
  ERR_TLS_CERT_ALTNAME_FORMAT: 'the certificate names its hosts in a form that cannot be read',
  HOSTNAME_MISMATCH: 'the certificate is for another host name: use the name that it was made for',
  CERT_HAS_EXPIRED: 'the certificate has expired: the receiver needs a new one',
  CERT_NOT_YET_VALID: 'the certificate is not valid yet: check the clocks of both machines',
  CERT_REVOKED: 'the certificate was revoked',
}

/** A receiver's alert about our own certificate; the first half of the word differs between versions of OpenSSL. */
const ALERT = /^ERR_SSL_\w+_ALERT_(BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_\w+|UNKNOWN_CA)$/

/** Node's other codes for a chain that does not verify. */
const OTHER_CERTIFICATE =
  /^(UNABLE_TO_(GET_CRL|DE\w+)|C(ERT|RL)_\w+|ERROR_IN_C(ERT|RL)_\w+|INVALID_(CA|PURPOSE)|PATH_LENGTH_EXCEEDED|UNSPECIFIED)$/

/** Faults of the network: they may pass. */
const network: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused: nothing listens there',
  ECONNRESET: 'the connection was reset before an answer came',
  EPIPE: 'the connection was closed before an answer came',
  UND_ERR_SOCKET: 'the connection was closed before an answer came',
  ENOTFOUND: 'the host name does not exist: check its spelling',
  EAI_AGAIN: 'the name look-up failed for now',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  EADDRNOTAVAIL: 'this machine has no free port to connect from',
  EMFILE: 'this process has too many open files and sockets',
  EPROTO: 'TLS failed: is it http, or another port?',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the port does not speak TLS: is it http, or another port?',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'the port does not speak TLS: is it http, or another port?',
  UND_ERR_HEADERS_OVERFLOW: 'the answer has more than 16 KiB of headers',
}

const codeOf = (error: unknown): string => {
  if (typeof error !== 'object' || error === null) return ''
  if ('code' in error && typeof error.code === 'string') return error.code
  return ''
}

const networkDetail = (error: unknown, code: string): string => {
  const known = network[code]
  if (known !== undefined) return known
  if (code.startsWith('HPE_') || (error instanceof Error && error.name === 'HTTPParserError'))
    return 'the answer is not HTTP: is it https, or another port?'
  return code === '' ? 'the connection failed' : `the connection failed (${code})`
}

/**
 * What an error of the network means: certificates and blocked addresses are final, the rest may pass. The words are ours and not the
 * error's, whose text may hold parts of the request.
 *
 * @param sent Whether the request had begun to go out: then the receiver may have got it.
 */
export const failureOf = (error: unknown, sent: boolean): Refused | Retryable => {
  const code = codeOf(error)
  if (code === BLOCKED)
    return refused('blockedAddress', { detail: error instanceof Error ? error.message : code })
  const certificate = ALERT.test(code) ? CLIENT : certificates[code]
  if (certificate !== undefined) return refused('certificate', { detail: certificate })
  if (OTHER_CERTIFICATE.test(code))
    return refused('certificate', { detail: `the certificate does not verify (${code})` })
  if (code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_NOT_SUPPORTED')
    return refused('badRequest', { detail: 'the request cannot be written as HTTP; nothing was sent' })
  if (code === NOT_CONNECTED || code === 'ETIMEDOUT')
    return retryable('timeout', { detail: 'no connection in time; no request was sent' })
  const detail = networkDetail(error, code)
  return retryable('network', { detail: sent ? detail : `${detail}; no request was sent` })
}
