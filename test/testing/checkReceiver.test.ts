import { createServer } from 'node:http'
import { describe, expect, it } from 'vitest'
import { ConfigError } from '../../src/core/refusal.ts'
import { brokenReceivers, checkReceiver, receiverVectors } from '../../src/testing/index.ts'
import { testCertificates, VECTOR_SECRET, type CheckReceiverOptions } from '../../src/testing/index.ts'
import type { BrokenReceiver, FaultScript, Received, ReceiverReport } from '../../src/testing/index.ts'
import { signatureOf, type Secret } from '../../src/signing/index.ts'
import { closedAfterEach, listen, verifying } from '../support/http.ts'

const { use, receive } = closedAfterEach()
const secret = 'correct horse 🐎'
const vectors = receiverVectors(VECTOR_SECRET)

const failedIn = ({ results }: ReceiverReport): ReadonlyArray<string> =>
  results.filter(({ passed }) => !passed).map(({ vector }) => vector.id)
const seenIn = ({ results }: ReceiverReport): ReadonlyArray<string> => [
  ...new Set(results.map(({ seen }) => seen.replace(/ after \d+ ms$/, ''))),
]

/** Receivers that read the body in another way before they verify it. */
const misreading = Object.entries({
  'kind/track': (body: Buffer) => JSON.stringify(JSON.parse(String(body)), null, 1),
  'body/unicode': (body: Buffer) => body.toString('latin1'),
  'body/white-space-around': (body: Buffer) => String(body).trim(),
}).map(([vector, read]): BrokenReceiver => {
  const codeFor = ({ body, headers }: Received, secret: Secret | string): number =>
    headers['x-signature'] === signatureOf(secret, read(body)) ? 200 : 401
  return { vector, script: (secret) => (got) => ({ do: 'status', code: codeFor(got, secret) }) }
})

describe('checkReceiver', () => {
  it('finds nothing in a receiver that is right', async () => {
    const { port, close } = await listen(createServer(verifying(secret)))
    const url = use(new URL(`http://127.0.0.1:${port}/hook?token=hunter2`), close)
    const report = await checkReceiver(url, { secret })
    expect(report.kept).toBe(true)
    expect(failedIn(report)).toEqual(['signature/upper-case'])
    expect(report.url).toMatch(/\d\/hook$/)
    expect(report.text).toMatch(/^passed {3}must {4}kind\/page .*Accepts an event of kind page\.$/m)
    expect(report.text).toMatch(/\nmust 20 of 20 · should 6 of 6 · may 0 of 1$/)
  })

  it('finds the fault of every broken receiver', async () => {
    const broken = [...Object.values(brokenReceivers), ...misreading]
    for (const { vector, script } of broken) {
      const { url } = await receive(script(secret))
      const report = await checkReceiver(url, { secret, timeout: 30_000 })
      const level = vectors.find(({ id }) => id === vector)?.level
      expect([vector, failedIn(report).includes(vector), report.kept]).toEqual([
        vector,
        true,
        level !== 'must',
      ])
    }
  })

  it('sends its headers, on connections that it closes, and reads little of the answers', async () => {
    const bodies: FaultScript = [
      { do: 'hugeBody', code: 200 },
      { do: 'slowBody', code: 200, bytesPerSecond: 10 },
      { do: 'headersOnly', code: 200 },
      { do: 'truncate', code: 200, at: 5 },
      { do: 'interim' },
      { do: 'redirect', to: 'self' },
    ]
    const receiver = await receive(bodies)
    const headers = { 'X-Team': 'blue' }
    const report = await checkReceiver(receiver.url, { secret, timeout: 3_000, headers })
    const statuses = report.results.slice(0, 6).map(({ status }) => status)
    expect(statuses).toEqual([200, 200, 200, 200, undefined, 307])
    expect(receiver.received.every(({ headers }) => headers['x-team'] === 'blue')).toBe(true)
    expect(receiver.received.length).toBe(receiver.accepted())
  })

  it('trusts the authorities that it is given, and no others', async () => {
    const { valid, ca } = testCertificates()
    const { url } = await receive([], { tls: valid })
    expect(seenIn(await checkReceiver(url, { secret, tls: { ca } }))).toEqual(['200'])
    const [untrusted, ...others] = seenIn(await checkReceiver(url, { secret }))
    expect(untrusted).toMatch(/^the issuer of the certificate is unknown: .*give tls\.ca/)
    expect(others).toEqual(['not sent: there was no answer to the 3 vectors before'])
  })

  it.each<[string, FaultScript[number], number]>([
    ['no answer within 30 ms', { do: 'silence' }, 30],
    ['the connection was reset before an answer came', { do: 'hangUp' }, 60_000],
    ['the answer is not HTTP: is it https, or another port?', { do: 'garbage' }, 60_000],
  ])('reports %s', async (what, fault, timeout) => {
    const { url } = await receive(() => fault)
    const report = await checkReceiver(url, { secret, timeout })
    expect([report.kept, seenIn(report)[0]]).toEqual([false, what])
    expect(report.results.length).toBe(vectors.length)
  })

  it.each<[unknown, unknown, string]>([
    ['ftp://a.example', { secret }, 'url must begin with http:// or https://'],
    ['http://a.example', undefined, 'secret must be a string'],
    ['http://a.example', { secret: '', timeout: 0, tls: { ca: 'x' } }, 'secret must not be empty; timeout'],
    ['http://a.example', { secret, headers: { Host: 'b' }, more: 1 }, 'headers.Host belongs to the request'],
  ])('rejects wrong options: %s %o', async (url, options, message) => {
    const checked = checkReceiver(url as string, options as CheckReceiverOptions)
    await expect(checked).rejects.toThrow(ConfigError)
    await expect(checked).rejects.toThrow(`Invalid options of checkReceiver: ${message}`)
  })
})
