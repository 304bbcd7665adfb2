import { frameBytes } from '../../src/event/payload.ts'
import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { version } from '../../src/core/version.ts'
import { ConfigError } from '../../src/core/refusal.ts'
import { onlyAttempt } from '../../src/sink/sink.ts'
import { ingestion, ingestionFaults, type IngestionOptions } from '../../src/http/ingestion.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { socketsOpen, until } from './laneKit.ts'
import { type BatchServer, batch, batchServer, member, type Reply, type Request } from './batchServer.ts'
import { deliverOnce, payloadOf } from '../sink/deliverOnce.ts'

const cleaners: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const clean of cleaners.splice(0).reverse()) await clean()
  await until(() => socketsOpen() === 0)
})

const serve = async (
  reply: (request: Request, index: number) => Reply = () => ({}),
): Promise<BatchServer> => {
  const server = await batchServer(reply)
  cleaners.push(server.close)
  return server
}

const sinkTo = (
  endpoint: string | URL,
  options?: IngestionOptions,
  key = 'a key é',
): ReturnType<typeof ingestion> => {
  const sink = ingestion(endpoint, key, options)
  cleaners.push(sink.close(0))
  return sink
}

describe('what an ingestion sink sends', () => {
  it('clients/11: is one POST with these headers and no others', async () => {
    const server = await serve()
    await deliverOnce(sinkTo(server.origin), batch('m-1', 'm-2'))
    expect(server.requests).toHaveLength(1)
    const [{ method, headers, text } = { method: '', headers: {}, text: '' }] = server.requests
    expect(method).toBe('POST')
    expect(headers).toEqual({
      host: server.origin.slice('http://'.length),
      connection: 'keep-alive',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(text)),
      'user-agent': `headrace-node/${version}`,
      authorization: `Basic ${Buffer.from('a key é:').toString('base64')}`,
      'x-retry-count': '0',
    })
  })

  it('clients/14: is the same bytes every time but for sentAt, those of the golden file', async () => {
    const server = await serve()
    const clock = virtualClock()
    const lines = readFileSync(new URL('../fixtures/tracking/messages.ndjson', import.meta.url), 'utf8')
      .trim()
      .split('\n')
    const members = lines.map((text) => ({ ...payloadOf(text), id: 'm' }))
    const { frame } = batch('m')
    const byteLength = frameBytes(frame) + members.reduce((sum, each) => sum + each.byteLength + 1, -1)
    const payload = { ...batch('m'), items: [], members, byteLength }
    const sink = sinkTo(server.origin, { clock })
    for (let number = 1; number <= 3; number++) {
      await deliverOnce(sink, payload, { attempt: { ...onlyAttempt, number } })
      clock.tick(1_000)
    }
    const body = (at: string): string => `{"batch":[${lines.join()}],"sentAt":"${at}"}`
    expect(server.requests.map(({ text }) => text)).toEqual([
      body('2026-01-01T00:00:00.000Z'),
      body('2026-01-01T00:00:01.000Z'),
      body('2026-01-01T00:00:02.000Z'),
    ])
    expect(server.requests.map(({ headers }) => headers['x-retry-count'])).toEqual(['0', '1', '2'])
  })

  it('carries static headers, and a signature if the payload is signed', async () => {
    const server = await serve()
    const sink = sinkTo(server.origin, { headers: { 'X-Team': 'blue' } })
    await deliverOnce(sink, { ...batch('m'), signer: (body) => `of ${body.length}` })
    expect(server.requests[0]?.headers).toMatchObject({ 'x-team': 'blue' })
    expect(server.requests[0]?.headers['x-signature']).toMatch(/^of \d+$/)
  })

  it('takes a single message too: its body is the message', async () => {
    const server = await serve()
    expect(await deliverOnce(sinkTo(`${server.origin}/v1/track`), member('m-1'))).toMatchObject({
      verdicts: [{ right: { status: 200 } }],
    })
    expect(server.requests[0]).toMatchObject({ path: '/v1/track', text: member('m-1').text })
  })

  it('starts nothing at or after the deadline', async () => {
    const clock = virtualClock()
    const sink = sinkTo('http://127.0.0.1:9', { clock })
    const late = { ...onlyAttempt, until: clock.now() }
    expect(await deliverOnce(sink, batch('m'), { attempt: late })).toMatchObject({
      verdicts: [{ left: { _tag: 'Retryable', reason: 'late' } }],
      end: 'complete',
    })
    expect(clock.pending()).toBe(0)
  })

  it('a payload that cannot be written is a defect of that delivery', async () => {
    const broken = (): never => {
      throw new Error('broken')
    }
    const sink = sinkTo('http://127.0.0.1:9')
    expect(await deliverOnce(sink, { ...batch('m'), signer: broken })).toEqual({
      verdicts: [],
      end: 'defect',
    })
  })
})

describe('clients/12: the endpoint', () => {
  it.each([
    ['', '/v1/batch'],
    ['/', '/v1/batch'],
    ['/?a=b', '/v1/batch?a=b'],
    ['/#part', '/v1/batch'],
    ['/own', '/own'],
    ['/own/', '/own/'],
    ['/own/v1/batch?a=b', '/own/v1/batch?a=b'],
  ])('with %j is one well-formed URL', async (given, path) => {
    const server = await serve()
    await deliverOnce(sinkTo(server.origin + given), batch('m'))
    await deliverOnce(sinkTo(new URL(server.origin + given)), batch('m'))
    expect(server.requests.map((request) => request.path)).toEqual([path, path])
  })

  it.each([
    'ingest.example/v1/batch',
    'localhost:7410',
    '//ingest.example',
    '',
    'ftp://a.example',
    'http://a b',
  ])('%j is refused when it is made', (endpoint) => {
    expect(() => ingestion(endpoint, 'key')).toThrow(ConfigError)
    expect(ingestionFaults({ endpoint, writeKey: 'key' })).toMatchObject([{ path: 'endpoint' }])
  })

  it('is its name, without a query', () => {
    expect(sinkTo('https://a.example').name).toBe('https://a.example/v1/batch')
    expect(sinkTo('https://a.example/b?token=hunter2').name).toMatch(/^https:\/\/a\.example\/b\?[0-9a-f]{8}$/)
  })
})

describe('wrong settings', () => {
  it('are all named at once, each with its path', () => {
    const faults = ingestionFaults({
      endpoint: 'http://u:p@a.example/',
      writeKey: ' padded',
      timeout: 0,
      connections: 1.5,
      headers: { Authorization: 'x', 'X-Retry-Count': '1', Host: 'a', 'X-A': 'b\n' },
      tls: { cert: 'client.pem' },
      egress: { allow: ['a b'] },
      statuses: [{ from: 1, to: 2, means: 'maybe' }],
      clock: {},
      Timeout: 5,
    })
    expect(faults.map(({ path }) => path)).toEqual([
      ...['endpoint', 'writeKey', 'timeout', 'connections'],
      ...['headers.Host', 'headers.X-A', 'headers.Authorization', 'headers.X-Retry-Count'],
      ...['tls.cert', 'tls.key', 'egress.allow[0]', 'statuses[0]', 'clock', 'Timeout'],
    ])
  })

  it.each([undefined, '', 5, 'a:b', 'key\n', 'a\tb', '\ud83d'])('a write key %j', (writeKey) => {
    expect(ingestionFaults({ endpoint: 'http://a.example', writeKey })).toMatchObject([{ path: 'writeKey' }])
  })

  it.each([undefined, null, 'http://a.example'])('settings that are %j', (settings) => {
    expect(ingestionFaults(settings)).toMatchObject([{ path: '' }])
  })

  it.each(['http://169.254.169.254/', 'http://metadata.google.internal/'])(
    'an endpoint at %s',
    (endpoint) => {
      expect(ingestionFaults({ endpoint, writeKey: 'k' })).toMatchObject([{ path: 'endpoint' }])
    },
  )

  it('never show the key or a header, nor does the sink', () => {
    let message = ''
    try {
      ingestion('http://u:hunter2@a.example', 'hunter2:', { headers: { 'X-A': 'hunter2\n' } })
    } catch (error) {
      message = inspect(error, { depth: Infinity, showHidden: true })
    }
    expect(message).toContain('cannot be made')
    expect(message).not.toContain('hunter2')
    const sink = sinkTo('https://a.example', { headers: { 'X-A': 'hunter2' } }, 'hunter2')
    const shown = inspect(sink, { depth: Infinity, showHidden: true }) + JSON.stringify(sink)
    expect(shown).not.toContain('hunter2')
    expect(shown).not.toContain(Buffer.from('hunter2:').toString('base64'))
  })
})
