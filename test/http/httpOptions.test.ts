import { describe, expect, it } from 'vitest'
import { decodeOptions, type Option } from '../../src/core/options.ts'
import type { Fault } from '../../src/core/refusal.ts'
import { headersOption, urlOption } from '../../src/http/httpOptions.ts'
import { tlsOption } from '../../src/http/tls.ts'
import { testCertificates } from '../../src/testing/certificate.ts'
import { pathsIn } from '../support/faults.ts'

const { ca, client, selfSigned, valid } = testCertificates()

const faultsIn = (option: Option<unknown>, value: unknown): ReadonlyArray<Fault> => {
  const decoded = decodeOptions(option, value)
  return decoded._tag === 'Left' ? decoded.left : []
}
const targetFaults = (url: unknown, egress?: 'public') => faultsIn(urlOption(egress), url)
const headerPaths = (headers: unknown) => pathsIn(decodeOptions(headersOption(), headers))
const tlsPaths = (tls: unknown) => pathsIn(decodeOptions(tlsOption, tls))
const wrong = (url: unknown, egress?: 'public'): boolean => targetFaults(url, egress).length > 0

describe('the URL of a receiver (DE11)', () => {
  it.each([
    ...['https://receiver.example/hook', 'http://receiver.example'],
    ...['http://receiver.example:8080/a/b?c=d&e=%20', 'https://bücher.example/straße'],
    ...['http://127.0.0.1:7410/', 'http://localhost:3000/', 'http://[::1]:3000/', 'http://10.0.0.7/'],
    ...['http://192.168.1.1/'],
  ])('takes %s', (url) => expect(targetFaults(url)).toEqual([]))

  it.each([
    ...['', 7, undefined, new URL('https://a.example/'), 'receiver.example', '/hook', 'http://', 'https:///'],
    ...['http://a.example:99999/', 'http:///hook', 'https:/a.example', 'http:a.example/hook', 'http://a:0/'],
    // Another scheme (S12).
    ...['ftp://a.example/', 'file:///etc/passwd', 'javascript:alert(1)', 'ws://a.example/'],
    // Credentials (S13).
    ...['http://user:pw@a.example/', 'http://user@a.example/', 'http://:pw@a.example/'],
    // Backslashes, white space, control characters (S14).
    ...['http://host\\@evil.example/', 'http:\\\\a.example\\hook', 'http://exa\tmple.com/'],
    ...['http://a.example/\nhook', ' http://a.example/', 'http://a.example/a b', 'http://a.example/\u00a0'],
    ...['http://a.example/\u0000', 'http://a.example/\u0085'],
  ])('refuses %j', (url) => expect(wrong(url)).toBe(true))

  const dotted = (length: number): string => 'abc.'.repeat(99).slice(0, length - 1) + 'b'
  it.each<readonly [string, ReadonlyArray<string>]>([
    [`https://${dotted(253)}/`, []],
    [`https://${dotted(254)}/`, ['must have a host of at most 253 characters']],
    [`https://a.example/${'x'.repeat(7_982)}`, []],
    [`https://a.example/${'x'.repeat(7_983)}`, ['must have at most 8000 characters']],
    // 11 s and more before it had a limit.
    [`http://a${'.'.repeat(1_000_000)}b/`, ['must have at most 8000 characters']],
    [`http://a${'.'.repeat(7_900)}b/`, ['must have a host of at most 253 characters']],
  ])('H4: bounds its length: %#', (url, messages) => {
    const before = process.cpuUsage()
    expect(targetFaults(url).map(({ message }) => message)).toEqual(messages)
    expect(process.cpuUsage(before).user).toBeLessThan(1_000_000)
  })

  it.each([
    ...['http://169.254.169.254/latest/meta-data', 'http:169.254.169.254/', 'http://169.254.169.254./'],
    ...['http://0xa9.254.169.254/', 'http://0251.0376.0251.0376/', 'http://2852039166/'],
    ...['http://169.16689662/', 'http://①⑥⑨.②⑤④.①⑥⑨.②⑤④/', 'http://169。254。169。254/'],
    ...['http://%31%36%39.254.169.254/', 'http://[::ffff:169.254.169.254]/'],
    ...['http://metadata.google.internal/', 'http://METADATA.google.internal./'],
  ])('refuses %s always (webhooks/S1 to S5, DE13)', (url) => expect(wrong(url)).toBe(true))

  it.each([
    ...['http://0x7f.1/', 'http://2130706433/', 'http://0177.0.0.1/', 'http://127.1/'],
    ...['http://①②⑦.⓪.⓪.①/', 'http://0/', 'http://[::1]/'],
    ...['http://localhost/', 'http://localhost./', 'http://foo.localhost/'],
  ])("refuses %s with egress 'public'", (url) => expect(wrong(url, 'public')).toBe(true))

  it.each([
    ...['http://93.184.216.34/', 'http://[2606:2800:220:1::1]/', 'http://[64:ff9b::808:808]/'],
    ...['http://a.example/'],
  ])("takes %s with egress 'public'", (url) => expect(targetFaults(url, 'public')).toEqual([]))

  it('takes accents after many checks: compiled, `URL.canParse` of Node 20 does not', () =>
    expect(Array.from({ length: 10_000 }, () => wrong('https://bücher.example/')).includes(true)).toBe(false))

  it('has every fault named, without the URL', () => {
    const faults = targetFaults('http://user:hunter2@169.254.169.254/?token=abc')
    expect(faults).toHaveLength(2)
    expect(JSON.stringify(faults)).not.toMatch(/hunter2|token|abc/)
  })
})

const HIDDEN = { 'X-Api-Key': 'hunter2\n', Host: 'hunter2', 'hunter2 ': '' }

describe('static headers (DE11)', () => {
  it.each([
    [{}],
    [{ 'X-Api-Key': 'k', Authorization: 'Bearer a.b-c_d~e+f/g=' }],
    [{ "x!#$%&'*+.^_`|~-9": '!"#$%&()*+,-./:;<=>?@[]^_`{|}~' }],
    [{ 'X-Empty': '', 'X-Inside': 'a b\tc' }],
    [Object.assign(Object.create(null), { A: 'b' })],
  ])('takes %o', (headers) => expect(headerPaths(headers)).toEqual([]))

  it.each(['a\r\nX-Evil: b', 'a\nb', 'a\0b', 'é', '😀', 'a\u007f', ' a', 'a ', '\ta', '\n'])(
    'refuses the value %j with the name only (webhooks/S17, S19)',
    (value) => expect(headerPaths({ 'X-Api-Key': value })).toEqual(['X-Api-Key']),
  )

  it('never have a value in their faults', () =>
    expect(JSON.stringify(faultsIn(headersOption(), HIDDEN))).not.toContain('hunter2'))

  it.each(['x a', 'x:a', '', 'x\r\ny', 'ü', '(x)', 'x\0'])('refuses the name %j (webhooks/S18)', (name) =>
    expect(headerPaths({ ok: '1', [name]: 'v' })).toEqual(['[1]']),
  )

  it.each(
    [
      ...['Content-Type', 'Content-Length', 'Content-Encoding', 'Host', 'Connection', 'Keep-Alive'],
      ...['Transfer-Encoding', 'Expect', 'Upgrade', 'User-Agent', 'X-Signature'],
    ].flatMap((name) => [name, name.toLowerCase(), name.toUpperCase()]),
  )('refuses %s, which belongs to the request (webhooks/S20, S21)', (name) =>
    expect(headerPaths({ [name]: 'v' })).toEqual([name]),
  )

  it('refuses two names that differ in case only (webhooks/S22)', () =>
    expect(headerPaths({ 'X-Key': 'a', 'x-key': 'b' })).toEqual(['x-key']))

  const instances = [new Headers({ A: 'b' }), new Map([['A', 'b']]), Object.create({ A: 'b' }) as unknown]
  it.each([null, [], 'X-A: b', 7, ...instances])('refuses %o, which is not a plain object', (headers) =>
    expect(headerPaths(headers)).toEqual(['']),
  )

  it('refuses values that are not text', () => {
    const headers = { a: 1, b: null, c: undefined, d: ['x'], e: { toString: () => 'ok' } }
    expect(headerPaths(headers)).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('have every fault named at once', () => {
    const headers = { Host: 'é', 'x y': '\n', fine: 'v', FINE: 'v' }
    expect(headerPaths(headers)).toEqual(['Host', 'Host', '[1]', '[1]', 'FINE'])
  })
})

const broken = ca.replace(/\n[A-Za-z0-9+/]{10}/, '\n**********')

describe('TLS options (DE11)', () => {
  it.each([
    [{}],
    [{ ca: undefined }],
    [{ ca }],
    [{ ca: [ca, Buffer.from(selfSigned.cert)] }],
    [{ cert: client.cert, key: Buffer.from(client.key) }],
    [{ ca: ca + selfSigned.cert, cert: client.cert, key: client.key }],
  ])('accept PEM texts and bytes', (tls) => expect(tlsPaths(tls)).toEqual([]))

  it('cannot turn verification off (webhooks/S32)', () => {
    const off = { rejectUnauthorized: false, checkServerIdentity: () => undefined }
    expect(tlsPaths(off)).toEqual(['rejectUnauthorized', 'checkServerIdentity'])
  })

  it.each<[string, unknown, ReadonlyArray<string>]>([
    ['need the contents of a file', { ca: './ca.pem', cert: 'client.pem', key: 7 }, ['ca', 'cert', 'key']],
    ['need a key beside a certificate', { cert: client.cert }, ['key']],
    ['need a certificate beside a key', { key: client.key }, ['cert']],
    ['need certificate and key of one pair', { cert: client.cert, key: valid.key }, ['key']],
    ['refuse an authority that cannot be read', { ca: broken }, ['ca']],
    ['refuse a certificate that cannot be read', { cert: broken, key: client.key }, ['cert']],
    ['refuse a key that cannot be read', { ca, cert: client.cert, key: broken }, ['key']],
    ['refuse a text', 'ca', ['']],
  ])('%s', (_, tls, paths) => expect(tlsPaths(tls)).toEqual(paths))

  it('never have a key in their faults', () => {
    const key = valid.key
    const faults = faultsIn(tlsOption, { cert: client.cert, key, [key]: key })
    expect(JSON.stringify(faults.map(({ message }) => message))).not.toContain(key.split('\n')[1])
  })
})
