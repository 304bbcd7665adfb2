import { expect, it } from 'vitest'
import { blockedAddress, failureOf, notConnected } from '../../src/http/networkError.ts'

const coded = (code: string): Error => Object.assign(new Error('X-Api-Key: hunter2'), { code })

it.each([
  ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ...['UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'UNABLE_TO_GET_CRL'],
  ...['UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY', 'UNABLE_TO_DECRYPT_CERT_SIGNATURE'],
  ...['ERR_TLS_CERT_ALTNAME_INVALID', 'HOSTNAME_MISMATCH', 'CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'],
  ...['CERT_REVOKED', 'CERT_UNTRUSTED', 'CERT_REJECTED', 'CERT_SIGNATURE_FAILURE'],
  ...['CERT_CHAIN_TOO_LONG', 'CRL_HAS_EXPIRED', 'ERROR_IN_CERT_NOT_AFTER_FIELD', 'INVALID_CA'],
  ...['INVALID_PURPOSE', 'PATH_LENGTH_EXCEEDED', 'UNSPECIFIED'],
  ...['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE'],
  ...['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA'],
])('%s is a certificate failure, and final (DE2)', (code) =>
  expect(failureOf(coded(code), false)).toMatchObject({ _tag: 'Refused', reason: 'certificate' }),
)

const passing = { _tag: 'Retryable', reason: 'network' }
it.each([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'UND_ERR_HEADERS_OVERFLOW'],
  ...['ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'EMFILE', 'EPROTO'],
  ...['ERR_SSL_WRONG_VERSION_NUMBER', 'ESOMETHING_NEW', ''],
])('%s may pass', (code) => expect(failureOf(coded(code), true)).toMatchObject(passing))

it('a timeout, a blocked address and a parser error have their own reasons', () => {
  expect(failureOf(notConnected(), false)).toMatchObject({ _tag: 'Retryable', reason: 'timeout' })
  expect(failureOf(coded('ETIMEDOUT'), false)).toMatchObject({ _tag: 'Retryable', reason: 'timeout' })
  const blocked = { _tag: 'Refused', reason: 'blockedAddress', detail: '10.0.0.1 is …' }
  expect(failureOf(blockedAddress('10.0.0.1 is …'), false)).toEqual(blocked)
  const badRequest = { _tag: 'Refused', reason: 'badRequest' }
  for (const code of ['UND_ERR_INVALID_ARG', 'UND_ERR_NOT_SUPPORTED'])
    expect(failureOf(coded(code), false)).toMatchObject(badRequest)
})

it('an answer that undici trips over, or cannot parse, is not HTTP', () => {
  const unparsed = Object.assign(new Error('Expected HTTP/'), { name: 'HTTPParserError', code: undefined })
  for (const error of [coded('ERR_ASSERTION'), coded('HPE_INVALID_CONSTANT'), unparsed])
    expect(failureOf(error, true).detail).toContain('not HTTP')
})

it('the detail says whether a request was sent (DE6), and has no words of the error (webhooks/S34)', () => {
  expect(failureOf(coded('ECONNREFUSED'), false).detail).toContain('no request was sent')
  expect(failureOf(coded('ECONNRESET'), true).detail).not.toContain('no request was sent')
  for (const code of ['ECONNRESET', 'CERT_HAS_EXPIRED', 'ESOMETHING_NEW', 'UNSPECIFIED', ''])
    expect(failureOf(coded(code), true).detail).not.toContain('hunter2')
  const named = Object.assign(coded(''), { name: 'hunter2 of hunter2' })
  const details = [new TypeError('hunter2'), coded(''), named].map((error) => failureOf(error, true).detail)
  const unnamed = 'the connection failed'
  expect(details).toEqual([`${unnamed} (TypeError)`, unnamed, unnamed])
})
