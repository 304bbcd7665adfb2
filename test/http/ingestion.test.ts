import { frameBytes, type Payload } from '../../src/event/payload.ts'
import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { right } from 'fp-ts/lib/Either.js'
import { contramap, onlyAttempt, type Failure, type Layer } from '../../src/index.ts'
import { ConfigError } from '../../src/core/refusal.ts'
import { version } from '../../src/core/package.ts'
import { ingestion, ingestionFaults, type IngestionOptions } from '../../src/http/ingestion.ts'
import { answerReader, bareIngestion } from '../../src/http/bareIngestion.ts'
import { testCertificates, virtualClock } from '../../src/testing/index.ts'
import { deliverOnce, payloadOf } from '../sink/deliverOnce.ts'
import { throwing } from '../support/check.ts'
import { thrown } from '../support/faults.ts'
import { answered, batch, closedAfterEach, member, type Reply } from '../support/http.ts'

const { receive, serve, use } = closedAfterEach()

const certificates = testCertificates()
const KEY = 'hunter2'

const sinkTo = (endpoint: string | URL, options?: IngestionOptions, key = KEY) => {
  const sink = ingestion(endpoint, key, options)
  return use(sink, () => sink.close({ timeout: 0 }))
}

type Sent = Payload<unknown>
const verdictOn = async (reply: Reply, payload: Sent = batch('a', 'b', 'c'), options?: IngestionOptions) => {
  const { verdicts, end } = await deliverOnce(sinkTo((await serve(() => reply)).origin, options), payload)
  expect([verdicts.length, end]).toEqual([1, 'complete'])
  const [verdict] = verdicts
  if (verdict === undefined) throw new Error('no verdict')
  return verdict
}

const failureOn = async (reply: Reply): Promise<Failure> => {
  const verdict = await verdictOn(reply)
  if (verdict._tag === 'Right') throw new Error('it was delivered')
  return verdict.left
}

describe('the request of an ingestion sink', () => {
  it('is one POST with these headers and no others (clients/11)', async () => {
    const server = await serve()
    const sink = sinkTo(server.origin, { headers: { 'X-Team': 'blue' } }, 'a key é')
    await deliverOnce(sink, { ...batch('m-1', 'm-2'), signature: 'c0ffee' })
    expect(server.requests).toHaveLength(1)
    const [{ method, headers, text } = { method: '', headers: {}, text: '' }] = server.requests
    expect(method).toBe('POST')
    expect(headers).toEqual({
      host: server.origin.slice('http://'.length),
      ...{ connection: 'keep-alive', 'content-type': 'application/json', 'x-retry-count': '0' },
      ...{ 'x-team': 'blue', 'x-signature': 'c0ffee' },
      'content-length': String(Buffer.byteLength(text)),
      'user-agent': `headrace-node/${version}`,
      authorization: `Basic ${Buffer.from('a key é:').toString('base64')}`,
    })
  })

  it('has the bytes of the golden file, and only sentAt and X-Retry-Count change (clients/14)', async () => {
    const server = await serve()
    const clock = virtualClock()
    const file = new URL('../fixtures/tracking/messages.ndjson', import.meta.url)
    const lines = readFileSync(file, 'utf8').trim().split('\n')
    const members = lines.map((text) => ({ ...payloadOf(text), id: 'm' }))
    const { frame } = batch('m')
    const byteLength = frameBytes(frame) + members.reduce((sum, each) => sum + each.byteLength + 1, -1)
    const payload = { ...batch('m'), items: [], members, byteLength }
    const sink = sinkTo(server.origin)
    for (let number = 1; number <= 3; number++) {
      await deliverOnce(sink, payload, { attempt: { ...onlyAttempt, number, clock } })
      clock.tick(1_000)
    }
    expect(server.requests.map(({ text }) => text)).toEqual(
      [0, 1, 2].map((s) => `{"batch":[${lines.join()}],"sentAt":"2026-01-01T00:00:0${s}.000Z"}`),
    )
    expect(server.requests.map(({ headers }) => headers['x-retry-count'])).toEqual(['0', '1', '2'])
  })
})

describe('the endpoint', () => {
  it.each([
    ['', '/v1/batch'],
    ['/?a=b', '/v1/batch?a=b'],
    ['/#part', '/v1/batch'],
    ['/own/', '/own/'],
    ['/own/v1/batch?a=b', '/own/v1/batch?a=b'],
  ])('with %j has the path %s (clients/12)', async (given, path) => {
    const server = await serve()
    await deliverOnce(sinkTo(server.origin + given), batch('m'))
    await deliverOnce(sinkTo(new URL(server.origin + given)), batch('m'))
    expect(server.requests.map((request) => request.path)).toEqual([path, path])
  })

  const wrong = ['ingest.example/v1/batch', 'localhost:7410', '//ingest.example', '']
  it.each([...wrong, 'http://169.254.169.254/'])('%j is refused', (endpoint) => {
    expect(() => ingestion(endpoint, 'key')).toThrow(ConfigError)
    expect(ingestionFaults({ endpoint, writeKey: 'key' })).toMatchObject([{ path: 'endpoint' }])
  })

  it("is checked by the egress rules: 'public', and an allow list", async () => {
    const address = 'endpoint points to an address that is not allowed'
    expect(() => ingestion('http://127.0.0.1:9/', 'key', { egress: 'public' })).toThrow(address)
    const sink = sinkTo((await receive()).url, { egress: { to: 'public', allow: ['127.0.0.0/8'] } })
    expect(await deliverOnce(sink, batch('a'))).toMatchObject({ verdicts: [{ _tag: 'Right' }] })
  })

  it('is the name, without the query', () => {
    expect(sinkTo('https://a.example').name).toBe('https://a.example/v1/batch')
    expect(sinkTo('https://a.example/b?token=s').name).toMatch(/^https:\/\/a\.example\/b\?[0-9a-f]{16}$/)
  })
})

describe('wrong settings of an ingestion sink', () => {
  it('are all named at once, each with its path', () => {
    const faults = ingestionFaults({
      ...{ endpoint: 'http://u:p@a.example/', writeKey: ' padded', timeout: 0, connections: 1.5 },
      headers: { Authorization: 'x', 'X-Retry-Count': '1', Host: 'a', 'X-A': 'b\n' },
      ...{ tls: { cert: 'client.pem' }, egress: { allow: ['a b'] } },
      ...{ statuses: [{ from: 1, to: 2, means: 'maybe' }], Timeout: 5 },
    })
    expect(faults.map(({ path }) => path)).toEqual([
      ...['tls.cert', 'egress.allow[0]', 'statuses[0].means', 'connections', 'endpoint', 'writeKey'],
      ...['headers.Authorization', 'headers.X-Retry-Count', 'headers.Host', 'headers.X-A'],
      ...['timeout', 'Timeout'],
    ])
    expect(faults[4]?.message).toContain('which logs show: leave them out')
  })

  it.each([undefined, '', 5, 'a:b', 'key\n', 'a\tb', '\ud83d'])('may be the write key %j', (writeKey) => {
    expect(ingestionFaults({ endpoint: 'http://a.example', writeKey })).toMatchObject([{ path: 'writeKey' }])
  })

  it.each([undefined, null, 'http://a.example'])('may be %j in place of settings', (settings) =>
    expect(ingestionFaults(settings)).toMatchObject([{ path: '' }]),
  )

  it('never show the key or a header, nor does the sink', () => {
    const headers = { 'X-A': 'hunter2\n' }
    const error = thrown(() => ingestion('http://u:hunter2@a.example', 'hunter2:', { headers }))
    const message = inspect(error, { depth: Infinity, showHidden: true })
    expect(message).toContain('Invalid ingestion options')
    expect(message).not.toContain('hunter2')
    const sink = sinkTo('https://a.example', { headers: { 'X-A': 'hunter2' } })
    const shown = inspect(sink, { depth: Infinity, showHidden: true }) + JSON.stringify(sink)
    expect(shown).not.toContain('hunter2')
    expect(shown).not.toContain(Buffer.from('hunter2:').toString('base64'))
  })
})

const statuses = [{ from: 460, to: 460, means: 'retry' } as const]
it.each<[Reply, object, IngestionOptions?]>([
  [{ status: 299 }, { right: { status: 299 } }],
  [{ status: 401 }, { left: { _tag: 'Refused', reason: 'status', status: 401 } }],
  [{ announced: true }, { right: { status: 200 } }],
  [{ status: 460 }, { left: { _tag: 'Retryable', status: 460 } }, { statuses }],
])('the status decides as for a webhook: %o (clients/25, 28, 29)', async (reply, verdict, more) =>
  expect(await verdictOn(reply, batch('a'), more)).toMatchObject(verdict),
)

/** Verdicts on answers that stall, and that no timer and no socket are left: test/laws/http.laws.ts. */
it('the timeout of 10 s includes the body: a 2xx that began to say no and stalls is delivered (clients/33)', async () => {
  const server = await serve(() => ({ body: '{"ok":false', stalls: true }))
  const clock = virtualClock()
  const headers = answered()
  const seen = deliverOnce(sinkTo(server.origin), batch('a', 'b'), { attempt: { ...onlyAttempt, clock } })
  await headers
  clock.tick(9_999)
  expect(clock.pending()).toBe(1)
  clock.tick(1)
  expect(await seen).toMatchObject({ verdicts: [{ right: { status: 200 } }], end: 'complete' })
  expect([server.requests.length, clock.pending()]).toEqual([1, 0])
})

describe('the text of a refusal', () => {
  it('is the detail, on one line, shortened, without the key', async () => {
    const credentials = Buffer.from(`${KEY}:`).toString('base64')
    const body = `bad\r\nkey ${KEY} or ${credentials} \u001b[31m${'x'.repeat(300)}`
    const clean = 'bad??key [secret] or [secret] ?[31m'
    const refusal = { _tag: 'Refused', reason: 'status', status: 400 }
    const detail = `${clean}${'x'.repeat(200 - clean.length)}…`
    expect(await failureOn({ status: 400, body })).toEqual({ ...refusal, detail })
  })

  it('has no value of a header', async () => {
    const key = encodeURIComponent(Buffer.from(`${KEY}:`).toString('base64'))
    const json = 'in JSON abcdefgh\\"/, abcdefgh\\"\\/'
    const body = `got 1, abcdefgh, Bearer abcdefgh, abcdefgh"/, ${json}, in a URL abcdefgh%22%2F, abcdefgh%22%2f, ${key}`
    const server = await serve(() => ({ status: 400, body }))
    const headers = { 'X-Version': '1', 'X-Proxy': 'Bearer abcdefgh', 'X-Longer': 'abcdefgh"/' }
    const two = '[secret], [secret]'
    const detail = `got 1, [secret], ${two}, in JSON ${two}, in a URL ${two}, [secret]`
    const seen = await deliverOnce(sinkTo(server.origin, { headers }), batch('a'))
    expect(seen).toMatchObject({ verdicts: [{ left: { detail } }] })
  })

  it('has no part of a key at its end', async () => {
    const failure = await failureOn({ status: 400, body: `${'x'.repeat(197)}${KEY}` })
    expect(JSON.stringify(failure)).not.toContain('hun')
  })

  it.each([
    ['there is no body', ''],
    ['the body is white space', ' \n '],
    ['the body is too large', 'x'.repeat(1_000_001)],
  ])('is left out if %s', async (_what, body) => {
    expect(await failureOn({ status: 413, body })).toEqual({ _tag: 'Refused', reason: 'status', status: 413 })
  })
})

describe('a 200 with ok:false (clients/25)', () => {
  const json = (body: unknown): Reply => ({ body: JSON.stringify(body), announced: true })
  const no = (detail: string) => ({ left: { _tag: 'Refused', reason: 'rejected', status: 200, detail } })
  const yes = { right: { status: 200 } }

  it.each<[string, unknown]>([
    ['index', [{ index: 1, messageId: 'b', reason: 'bad' }]],
    ['message id', [{ messageId: 'b', reason: 'bad' }]],
    ['message_id, with an error', [{ message_id: 'b', error: 'bad' }]],
    ['message id, with an index beyond the batch', [{ index: 9, messageId: 'b', message: 'bad' }]],
    ['index among others', [{ messageId: 'z' }, null, 7, 'what', { index: 1, reason: 'bad' }, { index: -1 }]],
    ['L5 an object by message id', { b: 'bad', z: 'unknown', constructor: 'unknown' }],
  ])('fails the messages that it names by %s', async (_how, errors) => {
    expect(await verdictOn(json({ ok: false, receivedEvents: 3, okEvents: 2, errors }))).toMatchObject({
      left: { _tag: 'PartlyFailed', members: [yes, no('bad'), yes] },
    })
  })

  const unknown = no('the receiver says that it did not take it')
  const quota = { ok: false, okEvents: 0, reason: 'quota' }
  const errors = [{ index: 0, reason: 'bad' }, { messageId: 'zzz' }]
  const named = { ok: false, errors: [{ messageId: 'a' }] }
  const text = 'Message ID: b-2: event is too large'
  const texts = [text, 'Message ID: z: unknown', 'Message ID: a', 'No Message ID: a: what']
  it.each<[string, object, ReadonlyArray<object>, Payload<unknown>?]>([
    ['refuses all with okEvents: 0', { ...quota, errors }, [no('bad'), no('quota'), no('quota')]],
    ['takes the others with okEvents: 1', { ok: false, okEvents: 1, errors }, [no('bad'), yes, yes]],
    ["L5 reads texts as Jitsu's", { ok: false, errors: texts }, [yes, no(text), yes], batch('a', 'b-2', 'c')],
    ['fails every message with a named id', named, [unknown, yes, unknown], batch('a', 'b', 'a')],
  ])('%s', async (_what, body, members, payload) =>
    expect(await verdictOn(json(body), payload)).toMatchObject({ left: { _tag: 'PartlyFailed', members } }),
  )

  it('fails them if a layer of the host changed a copy of the batch, which is sent', async () => {
    const said = { ok: false, okEvents: 2, errors: [{ index: 1, reason: 'bad' }] }
    const { origin, requests } = await serve(() => json(said))
    const signs = contramap((each: Payload<unknown>) => ({ ...each, signature: 'c0ffee' })) as Layer
    const sink = bareIngestion(origin, KEY, {}, signs)
    use(sink, () => sink.close({ timeout: 0 }))
    const { verdicts } = await deliverOnce(sink, batch('a', 'b', 'c'))
    expect(verdicts).toMatchObject([{ left: { members: [yes, no('bad'), yes] } }])
    expect(requests).toMatchObject([{ headers: { 'x-signature': 'c0ffee' } }])
    const left = { reason: 'notAPayload' }
    expect(await deliverOnce(sink, 5 as never)).toMatchObject({ verdicts: [{ left }] })
    const failing = bareIngestion(origin, KEY, {}, contramap(throwing('planted')))
    expect(await deliverOnce(failing, batch('a'))).toEqual({ verdicts: [], end: 'defect' })
  })

  it('reads a body with a byte order mark', async () => {
    const body = `\ufeff${JSON.stringify({ ok: false, okEvents: 2, errors: [{ index: 1, reason: 'bad' }] })}`
    expect(await verdictOn({ body })).toMatchObject({ left: { members: [yes, no('bad'), yes] } })
  })

  it('H18 reads the errors of an answer in linear time', () => {
    const errors = Array.from({ length: 35_000 }, (_, n) => ({ messageId: `unknown-${n}` }))
    const said = { ok: false, errors: [...errors, { messageId: 'm', reason: 'bad' }] }
    const body = Buffer.from(JSON.stringify(said))
    const payload = batch(...Array.from({ length: 20_000 }, (_, n) => (n % 2 === 0 ? 'm' : `n-${n}`)))
    const started = process.cpuUsage()
    const verdict = answerReader(KEY, 'credentials')(right({ sink: 'x', status: 200 }), body, payload)
    // It took 35,000 x 20,000 comparisons: several seconds.
    expect(process.cpuUsage(started).user).toBeLessThan(1_500_000)
    expect(verdict).toMatchObject({ left: { _tag: 'PartlyFailed' } })
    if (verdict._tag === 'Left' && verdict.left._tag === 'PartlyFailed')
      expect(verdict.left.members.slice(0, 2)).toMatchObject([no('bad'), yes])
  })

  it('takes a body that is no JSON at once: an error would hold the batch until the timeout', () => {
    const taken = right({ sink: 'x' })
    expect(answerReader(KEY, 'credentials')(taken, Buffer.from('{"ok":false'), batch('a'))).toBe(taken)
  })

  it.each<[string, object]>([
    ['there are no errors', { ok: false }],
    ['the list is empty', { ok: false, errors: [] }],
    ['the errors are not a list', { ok: false, errors: { 1: 'bad' } }],
    ['the index is beyond the batch', { ok: false, errors: [{ index: 3 }, { index: -1 }, { index: 0.5 }] }],
    ['the names are unknown', { ok: false, errors: [{ messageId: 'z' }, 'z'] }],
  ])('fails all messages if %s', async (_how, body) => {
    expect(await verdictOn(json(body))).toMatchObject(unknown)
    expect(await verdictOn(json({ ...body, reason: 'quota' }))).toMatchObject(no('quota'))
  })

  it('fails a message that was sent alone, in a batch or not', async () => {
    const reply = json({ ok: false, errors: [{ index: 0, reason: `key ${KEY}\n` }] })
    expect(await verdictOn(reply, batch('a'))).toMatchObject(no('key [secret]'))
    expect(await verdictOn(reply, member('a'))).toMatchObject(no('key [secret]'))
  })

  it.each<[string, Reply]>([
    ['ok:true with errors', json({ ok: true, errors: [{ index: 0 }], x: false })],
    ['ok missing', json({ success: false })],
    ['ok that is not a boolean', json({ ok: 'false' })],
    ['a list', json([{ ok: false }])],
    ['null', { body: 'null' }],
    ['no body', { status: 204 }],
    ['a body that is too large', json({ ok: false, errors: 'x'.repeat(1_000_000) })],
  ])('is the only body that changes a 2xx, not %s', async (_what, reply) => {
    expect(await verdictOn(reply)).toMatchObject({ _tag: 'Right', right: { status: reply.status ?? 200 } })
  })
})

it('TLS to an endpoint is verified: without the authority it is final, with it the batch is delivered', async () => {
  const receiver = await receive([], { tls: certificates.valid })
  const refused = await deliverOnce(sinkTo(receiver.url), batch('a', 'b'))
  expect(refused).toMatchObject({ verdicts: [{ left: { _tag: 'Refused', reason: 'certificate' } }] })
  const seen = await deliverOnce(sinkTo(receiver.url, { tls: { ca: certificates.ca } }), batch('a'))
  expect([seen.verdicts, receiver.received.length]).toMatchObject([[{ right: { status: 200 } }], 1])
})
