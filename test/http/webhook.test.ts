import { createHmac } from 'node:crypto'
import Fastify from 'fastify'
import { createServer as createHttps } from 'node:https'
import { createServer } from 'node:net'
import type { IncomingHttpHeaders } from 'node:http'
import { connect } from 'node:tls'
import { inspect } from 'node:util'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { right, type Either } from 'fp-ts/lib/Either.js'
import { from, of, type Observable } from 'rxjs'
import { ingestion } from '../../src/http/ingestion.ts'
import { webhook, type WebhookOptions } from '../../src/http/webhook.ts'
import { batch, deliver, failover, lift, onlyAttempt, sign, withCircuitBreaker } from '../../src/index.ts'
import { memory } from '../../src/sink/memory.ts'
import { newShared, SHARED } from '../../src/sink/sink.ts'
import { secretFrom } from '../../src/signing/secret.ts'
import { testCertificates, virtualClock, type Misbehaviour } from '../../src/testing/index.ts'
import type { Receiver, TestCertificate, VirtualClock } from '../../src/testing/index.ts'
import type { Payload } from '../../src/event/payload.ts'
import type { TlsMisbehaviour } from '../../src/testing/faults.ts'
import { deliverOnce, hear, payloadOf, type Seen } from '../sink/deliverOnce.ts'
import { all } from '../support/check.ts'
import { thrown } from '../support/faults.ts'
import { closedAfterEach, listen } from '../support/http.ts'

const { receive, use } = closedAfterEach()
const certificates = testCertificates()

const sinkTo = (target: string | WebhookOptions): ReturnType<typeof webhook> => {
  const sink = webhook(target)
  return use(sink, () => sink.close({ timeout: 0 }))
}

const event = payloadOf('{"type":"track","event":"Café ☕ 😀","userId":"u"}')
const hmac = (secret: string, body: string): string => createHmac('sha1', secret).update(body).digest('hex')
const sentTo = (receiver: Receiver, name: string) => receiver.received.map(({ headers }) => headers[name])
const delivered = [{ _tag: 'Right', right: { status: 200 } }]
/** A receiver with the package: its clock is the machine's, so only the signature is checked here. */
const asText = (receiver: Webhook, text: string, headers: IncomingHttpHeaders): string => {
  const { 'webhook-id': id = '', 'webhook-timestamp': seconds, 'webhook-signature': given = '' } = headers
  const signature = receiver.sign(String(id), new Date(Number(seconds) * 1_000), text)
  return String(given).split(' ').includes(signature) ? 'verified' : 'refused'
}
const network = [{ _tag: 'Left', left: { _tag: 'Retryable', reason: 'network' } }]

describe('the request of a webhook', () => {
  it('is a POST of the exact bytes, with these headers and no others', async () => {
    const receiver = await receive()
    await deliverOnce(sinkTo(`${receiver.url}hook/1?a=b`), event)
    const [request] = receiver.received
    expect(request).toMatchObject({ method: 'POST', path: '/hook/1?a=b' })
    expect(String(request?.body)).toBe(event.text)
    expect(request?.headers).toEqual({
      host: new URL(receiver.url).host,
      ...{ connection: 'keep-alive', 'content-type': 'application/json', 'user-agent': 'headrace/1.0' },
      'content-length': String(event.byteLength),
    })
  })

  it('has the bytes and the Content-Type of another format, signed', async () => {
    const receiver = await receive()
    const bytes = Buffer.from([0, 255, 10, 128])
    await deliverOnce(sinkTo({ url: receiver.url, secret: 'of the sink' }), {
      ...{ id: 'p1', items: ['p'], byteLength: bytes.length, text: bytes.toString('base64') },
      ...{ contentType: 'application/x-protobuf', encoding: 'base64' },
    })
    const [request] = receiver.received
    expect(Buffer.from(request?.body ?? '').equals(bytes)).toBe(true)
    expect(request?.headers).toMatchObject({
      'content-type': 'application/x-protobuf',
      'content-length': '4',
      'x-signature': createHmac('sha1', 'of the sink').update(bytes).digest('hex'),
    })
  })

  it('has X-Signature with a secret: its own one, or that of the payload (DE10)', async () => {
    const receiver = await receive()
    const plain = sinkTo(`${receiver.url}plain`)
    const own = sinkTo({ url: `${receiver.url}own`, secret: 'of the sink' })
    for (const sink of [plain, own]) {
      await deliverOnce(sink, event)
      await deliverOnce(sink, { ...event, signature: hmac('of the payload', event.text) })
    }
    const [ofPayload, ofSink] = ['of the payload', 'of the sink'].map((secret) => hmac(secret, event.text))
    expect(sentTo(receiver, 'x-signature')).toEqual([undefined, ofPayload, ofSink, ofSink])
  })

  it('has the headers of Standard Webhooks beside X-Signature, made at each attempt (TP4)', async () => {
    const receiver = await receive()
    const clock = virtualClock()
    const [one, two] = [7, 9].map((byte) => `whsec_${Buffer.alloc(24, byte).toString('base64')}`)
    let secrets: string | string[] = [String(one), String(two)]
    const sink = sinkTo({ url: receiver.url, secret: 's', standardSecret: () => secrets })
    const attempt = { ...onlyAttempt, clock }
    await deliverOnce(sink, event, { attempt })
    clock.tick(90_000)
    secrets = Promise.reject(new Error('planted')) as never
    await deliverOnce(sink, event, { attempt })
    secrets = String(two)
    await deliverOnce(sink, payloadOf(event.text, { id: 'ü \n' }), { attempt })
    const times = receiver.received.map(({ headers }) => Number(headers['webhook-timestamp']))
    expect(times).toEqual([0, 90].map((later) => Math.floor(clock.now() / 1_000) - 90 + later))
    const [first, second] = receiver.received.map(({ headers, body }) => {
      const sent = [one, two].map((each) => asText(new Webhook(String(each)), String(body), headers))
      return [headers['x-signature'], headers['webhook-id'], ...sent]
    })
    const signature = hmac('s', event.text)
    expect(first).toEqual([signature, event.id, 'verified', 'verified'])
    expect(second).toEqual([signature, '%C3%BC%20%0A', 'refused', 'verified'])
    secrets = 'of another form'
    expect((await deliverOnce(sink, event, { attempt })).end).toBe('defect')
    expect(receiver.received.length).toBe(2)
  })

  it('is not sent if its text was changed after sign; a copy of the same text is, also from a store', async () => {
    const receiver = await receive()
    const sink = sinkTo(receiver.url)
    const signedOf = async <P extends Payload<unknown>>(source: Observable<Either<unknown, P>>) => {
      const [each] = await all(source)
      return each?._tag === 'Right' ? each.right : expect.fail('refused')
    }
    const one = await signedOf(of(right(payloadOf('{"a":1}'))).pipe(sign('s')))
    const two = of(right(payloadOf('{"a":1}')), right(payloadOf('{"a":2}')))
    const many = await signedOf(two.pipe(batch(), sign('s')))
    const stored = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T
    const [first, second] = many.members
    if (first === undefined || second === undefined) expect.fail('no members')
    const copies = { ...many, members: [{ ...first }, { ...second }] }
    const anew = { ...one, text: [...one.text].join('') }
    const kept = [one, { ...one }, anew, stored(one), many, copies, stored(many)]
    for (const payload of kept) {
      expect((await deliverOnce(sink, payload)).verdicts).toMatchObject(delivered)
      const { body, headers } = receiver.received.at(-1) ?? {}
      expect(headers?.['x-signature']).toBe(hmac('s', String(body)))
    }
    const again = await signedOf(of(right({ ...one, text: '{"a":3}' })).pipe(sign('s')))
    expect((await deliverOnce(sink, again)).verdicts).toMatchObject(delivered)
    const framed = { ...many, frame: { prefix: '[ ', suffix: ']' } }
    const others = [[second, first], [first]].map((members) => ({ ...many, members }))
    const changed = [{ ...one, text: '{"a":2}' }, ...others, framed]
    const verdicts = [{ left: { _tag: 'Refused', reason: 'changedAfterSign' } }]
    for (const payload of changed) expect((await deliverOnce(sink, payload)).verdicts).toMatchObject(verdicts)
    expect(receiver.received.length).toBe(kept.length + 1)
    const own = sinkTo({ url: receiver.url, secret: 's' })
    expect((await deliverOnce(own, { ...one, text: '{"a":2}' })).verdicts).toMatchObject(delivered)
  })

  it('is the same for each attempt (BY1, DE6)', async () => {
    const receiver = await receive(() => ({ do: 'status', code: 503 }))
    const sink = sinkTo({ url: receiver.url, secret: 'correct horse', headers: { 'X-Key': 'k' } })
    for (let number = 1; number <= 3; number++)
      await deliverOnce(sink, event, { attempt: { ...onlyAttempt, number } })
    const [first, ...others] = receiver.received.map(({ body, rawHeaders }) => [String(body), rawHeaders])
    expect(others).toEqual([first, first])
  })

  it('has the static headers of its URL only, in their spelling (DE11)', async () => {
    const [one, other] = [await receive(), await receive()]
    await deliverOnce(sinkTo({ url: one.url, headers: { 'X-API-Key': 'one', 'x-empty': '' } }), event)
    const second = sinkTo({ url: other.url, headers: { 'X-Other': 'two' }, userAgent: 'own/0.1.0' })
    await deliverOnce(second, event)
    expect(one.received[0]?.rawHeaders).toEqual(expect.arrayContaining(['X-API-Key', 'one', 'x-empty', '']))
    expect(JSON.stringify(other.received[0]?.rawHeaders)).not.toMatch(/api-key|one/i)
    expect(other.received[0]?.headers).toMatchObject({ 'x-other': 'two', 'user-agent': 'own/0.1.0' })
  })

  it('takes no URL or header from an event (webhooks/S23)', async () => {
    const receiver = await receive()
    const text = '{"header":{"X-Evil":"1"},"fullPath":"/evil","url":"http://127.0.0.1:9/"}'
    await deliverOnce(sinkTo(receiver.url), payloadOf(text))
    expect(receiver.received[0]).toMatchObject({ path: '/' })
    expect(receiver.received[0]?.headers).not.toHaveProperty('x-evil')
  })

  it('has the message id in `messageIdHeader`, percent-encoded if needed (EV2)', async () => {
    const receiver = await receive()
    const standardSecret = `whsec_${'A'.repeat(32)}`
    const sink = sinkTo({ url: receiver.url, messageIdHeader: 'X-Message-Id', standardSecret })
    for (const id of ['a.b/c_1', 'ü \r\nX-Evil: 1', 'a b', 'a%20b', 'half \ud83d', 'half \ud83e'])
      await deliverOnce(sink, payloadOf('{}', { id }))
    expect(sentTo(receiver, 'x-message-id')).toEqual([
      ...['a.b/c_1', '%C3%BC%20%0D%0AX-Evil%3A%201', 'a%20b', 'a%2520b'],
      // H9: two ids never have one value.
      ...['half%20%ud83d', 'half%20%ud83e'],
    ])
    expect(receiver.received[1]?.headers).not.toHaveProperty('x-evil')
  })
})

describe('the webhooks of one attempt', () => {
  it('share bytes and signatures: one for each body and secret (DE10)', async () => {
    const receiver = await receive()
    const secret = secretFrom('correct horse')
    if (secret._tag === 'Left') throw new Error(secret.left.message)
    const sinks = ['a', 'b', 'c', 'd', 'e'].map((path, at) =>
      sinkTo({ url: receiver.url + path, secret: at % 2 === 0 ? secret.right : 'another' }),
    )
    const shared = newShared()
    const attempt = { ...onlyAttempt, [SHARED]: shared }
    await Promise.all(sinks.map((sink) => deliverOnce(sink, event, { attempt })))
    // One for the secret that three share, one for each of the two that were given as text.
    expect(shared.work).toMatchObject({ signatures: { length: 3 } })
    const signatures = new Set(['correct horse', 'another'].map((each) => hmac(each, event.text)))
    expect(new Set(sentTo(receiver, 'x-signature'))).toEqual(signatures)
  })

  it('have names without the query', () => {
    const url = 'https://receiver.example/hook?token=hunter2'
    const { name } = sinkTo(url)
    expect(name).toMatch(/^https:\/\/receiver\.example\/hook\?[0-9a-f]{16}$/)
    expect(sinkTo(url).name).toBe(name)
    expect(sinkTo('https://receiver.example/hook').name).toBe(name.slice(0, -17))
    expect(sinkTo(`${url}s`).name).not.toBe(name)
  })
})

describe('what waits for a connection', () => {
  const SLOW: Misbehaviour = { do: 'status', code: 200, after: 1_000 }

  /** Answers every request of `count`, two at a time, a second after its start. */
  const answerAll = async (receiver: Receiver, clock: VirtualClock, count: number): Promise<void> => {
    for (let arrived = 2; arrived <= count; arrived += 2) {
      await receiver.arrived(arrived)
      clock.tick(1_000)
    }
  }

  it('D1: has its whole time from its request on, asks no standby and opens no circuit', async () => {
    const clock = virtualClock()
    const receiver = await receive(() => SLOW, { clock })
    const standby = memory<Payload<unknown>>()
    const hook = sinkTo({ url: receiver.url, connections: 2 })
    const store = failover([withCircuitBreaker()(hook), standby])
    const payloads = Array.from({ length: 20 }, (_, at) => payloadOf('{}', { id: `p${at}` }))
    const ended = all(from(payloads).pipe(lift(), deliver(store, { clock })))
    await answerAll(receiver, clock, 20)
    expect((await ended).map(({ _tag }) => _tag)).toEqual(payloads.map(() => 'Delivered'))
    expect([receiver.received.length, receiver.accepted(), standby.items()]).toEqual([20, 2, []])
  })

  it('D1: has its whole time at an ingestion endpoint too', async () => {
    const clock = virtualClock()
    const receiver = await receive(() => SLOW, { clock })
    const sink = ingestion(receiver.url, 'key', { connections: 2, timeout: 1_500 })
    const attempt = { ...onlyAttempt, clock }
    const all = Array.from({ length: 6 }, () => deliverOnce(sink, event, { attempt }))
    await answerAll(receiver, clock, 6)
    for (const { verdicts } of await Promise.all(all)) expect(verdicts).toMatchObject(delivered)
    await sink.close({ timeout: 0 })
  })

  it('is at most 10,000 items; one more is tried again', async () => {
    const receiver = await receive([{ do: 'silence' }])
    const sink = sinkTo({ url: receiver.url, connections: 1, timeout: Infinity })
    const all = Array.from({ length: 10_002 }, () => hear(sink, event))
    const full = { left: { _tag: 'Retryable', reason: 'queueFull' } }
    expect(all.flatMap(({ told }) => told)).toMatchObject([full, 'complete'])
    for (const { cancel } of all) cancel()
  })
})

describe('wrong options of a webhook', () => {
  // A caller without types may give anything.
  const messageOf = (options: unknown) => String(thrown(() => webhook(options as WebhookOptions)))

  const standardSecret = `whsec_${Buffer.alloc(24, 1).toString('base64')}`
  const standard = { url: 'https://a.example/', standardSecret }

  it('the three names are free without a standard secret (TP4)', () => {
    const headers = { 'webhook-signature': 'a', 'webhook-timestamp': '1' }
    expect(messageOf({ url: 'https://a.example/', headers, messageIdHeader: 'webhook-id' })).toBe('undefined')
    expect(messageOf(standard)).toBe('undefined')
  })

  it('throw one error that names every fault', () => {
    const message = messageOf({
      ...{ url: 'ftp://a.example/', headers: { Host: 'a', 'X-A': 'b\n' }, secret: ' padded ' },
      ...{ tls: { cert: 'client.pem' }, statuses: [{ from: 1, to: 2, means: 'delivered' }] },
      ...{ egress: { allow: ['a b'] }, connections: 0, connectWithin: NaN },
      ...{ messageIdHeader: 'User-Agent', userAgent: '' },
    })
    for (const part of [
      ...['url must begin with http', 'headers.Host belongs', 'headers.X-A must be visible'],
      ...['secret must not begin or end with white space', 'tls.cert must be PEM'],
      ...['egress.allow[0] must be', 'connections must be', 'connectWithin must be'],
      ...['messageIdHeader belongs', 'userAgent must not be empty'],
    ])
      expect(message).toContain(part)
    expect(message).not.toContain('statuses')
  })

  it.each([
    ['no options', undefined],
    ['no URL', {}],
    ['a secret that is a look-alike', { url: 'https://a.example/', secret: {} }],
    ['an empty secret', { url: 'https://a.example/', secret: '' }],
    ['one header twice', { url: 'https://a.example/', headers: { 'X-Id': 'a' }, messageIdHeader: 'x-id' }],
    ...['webhook-id', 'Webhook-Timestamp', 'webhook-signature'].flatMap<[string, unknown]>((name) => [
      [`${name} for the id, beside a standard secret`, { ...standard, messageIdHeader: name }],
      [`a header ${name} beside a standard secret`, { ...standard, headers: { [name]: 'a' } }],
    ]),
    ['a standard secret that is none', { ...standard, standardSecret: 'hunter2' }],
    ['a user agent with a line break', { url: 'https://a.example/', userAgent: 'a\nb' }],
    ['a clock that is none', { url: 'https://a.example/', clock: {} }],
    ["loopback with egress 'public'", { url: 'http://127.1/', egress: 'public' }],
  ])('throw for %s', (_, options) => expect(messageOf(options)).toContain('ConfigError: Invalid webhook o'))

  it('never show a secret or a header value, nor does the sink (webhooks/S33)', () => {
    const wrong = { headers: { 'X-A': 'hunter2\n' }, secret: 'hunter2 ' }
    const message = messageOf({ url: 'https://u:hunter2@a.example/?t=hunter2', ...wrong })
    expect(message).toContain('Invalid webhook options')
    expect(message).not.toContain('hunter2')
    const secret = secretFrom('hunter2')
    if (secret._tag === 'Left') throw new Error('no secret')
    const headers = { 'X-A': 'hunter2' }
    const sink = sinkTo({ url: 'https://a.example/?t=hunter2', headers, secret: secret.right })
    const shown = inspect(sink, { depth: Infinity, showHidden: true }) + JSON.stringify(sink)
    expect(shown).not.toContain('hunter2')
  })
})

describe('a receiver that answers', () => {
  const answering = async (...parts: ReadonlyArray<string>): Promise<string> => {
    const server = await listen(
      createServer((socket) =>
        socket.setNoDelay(true).on('data', () => {
          void (async () => {
            for (const part of parts) {
              socket.write(part)
              await new Promise((resolve) => setTimeout(resolve, 2))
            }
          })()
        }),
      ),
    )
    use(server, server.close)
    return `http://127.0.0.1:${server.port}/`
  }
  const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
  const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'
  const FINAL = 'HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\nHTTP/1.1 100 Continue'
  it.each<[string, ReadonlyArray<string>]>([
    ['100 Continue', [CONTINUE, FINAL]],
    ['a 100 in one segment with the answer', [CONTINUE + FINAL]],
    ['100, 102, 103 and 100', [`${CONTINUE}HTTP/1.1 102 Processing\r\n\r\n${HINTS}`, CONTINUE + FINAL]],
    ['a 100 byte by byte', [...(CONTINUE + HINTS), FINAL]],
    ['a status line in two segments', [`${CONTINUE}HTTP/1.1 2`, FINAL.slice('HTTP/1.1 2'.length)]],
    ['a 100 with headers in two segments', ['HTTP/1.0 100 Go\r\nX: a\r\n\r', `\n${FINAL}`]],
  ])('delivers after %s (L1)', async (_what, parts) => {
    const sink = sinkTo(await answering(...parts))
    for (let i = 0; i < 3; i++)
      expect(await deliverOnce(sink, event)).toMatchObject({ verdicts: delivered, end: 'complete' })
  })

  it('may be retried after nothing but 100 Continue, a 101, or interim answers above 16 KiB (L1)', async () => {
    const endless = `HTTP/1.1 103 Hints\r\nX: ${'a'.repeat(20_000)}`
    const switching = 'HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'
    for (const part of [switching, endless, HINTS.repeat(700) + FINAL])
      expect(await deliverOnce(sinkTo(await answering(part)), event)).toMatchObject({ verdicts: network })
    const sink = sinkTo({ url: await answering(CONTINUE, CONTINUE), timeout: 50 })
    const timeout = [{ _tag: 'Left', left: { _tag: 'Retryable', reason: 'timeout' } }]
    expect(await deliverOnce(sink, event)).toMatchObject({ verdicts: timeout })
  })
})

it('may be retried if nothing listens, the host has no address, or one side alone speaks TLS', async () => {
  const [refusing, plain] = [await receive([{ do: 'refuse', lasting: 60_000 }]), await receive()]
  const secure = await receive([], { tls: certificates.valid })
  const unreachable = [refusing.url, 'http://no-such-host.invalid/']
  const mixed = [plain.url.replace('http:', 'https:'), secure.url.replace('https:', 'http:')]
  for (const url of [...unreachable, ...mixed]) {
    const seen = await deliverOnce(sinkTo({ url, timeout: 60_000, connectWithin: 60_000 }), event)
    expect(seen).toMatchObject({ verdicts: network, end: 'complete' })
    if (unreachable.includes(url)) expect(JSON.stringify(seen)).toContain('no request was sent')
  }
  expect([...plain.received, ...secure.received]).toEqual([])
})

describe('TLS', () => {
  const { ca } = certificates
  const secure = async (tls: TestCertificate, options: Partial<WebhookOptions> = {}, times = 1) => {
    const receiver = await receive([], { tls })
    const sink = sinkTo({ url: receiver.url, ...options })
    let seen: Seen = { verdicts: [], end: 'cancelled' }
    for (let i = 0; i < times; i++) seen = await deliverOnce(sink, event)
    return { seen, receiver }
  }
  const refusal = (words: string): object => {
    const detail: unknown = expect.stringContaining(words)
    return { verdicts: [{ left: { _tag: 'Refused', reason: 'certificate', detail } }], end: 'complete' }
  }
  const chain = { cert: `${certificates.valid.cert}${ca}`, key: certificates.valid.key }
  const served = { ...certificates, chain }
  const wrong: ReadonlyArray<[TlsMisbehaviour | 'valid' | 'chain', Partial<WebhookOptions>, string]> = [
    ['selfSigned', {}, 'self-signed: give tls.ca'],
    ['selfSigned', { tls: { ca } }, 'self-signed'],
    ['valid', {}, 'issuer of the certificate is unknown'],
    ['wrongName', { tls: { ca } }, 'for another host name'],
    ['expired', { tls: { ca } }, 'has expired'],
    ['chain', {}, 'private authority: give tls.ca'],
  ]

  it.each(wrong)('with the certificate %s and %o is final, unsent', async (name, options, words) => {
    const { seen, receiver } = await secure(served[name], options)
    expect(seen).toMatchObject(refusal(words))
    expect(receiver.received).toEqual([])
  })

  it('is verified although NODE_TLS_REJECT_UNAUTHORIZED is 0 (webhooks/S31)', async () => {
    onTestFinished(() => void vi.unstubAllEnvs())
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    for (const [name, options, words] of wrong)
      expect((await secure(served[name], options)).seen).toMatchObject(refusal(words))
    // The variable works: Node connects without the option.
    const receiver = await receive([], { tls: certificates.selfSigned })
    const socket = connect({ host: 'localhost', port: Number(new URL(receiver.url).port) })
    await new Promise((resolve, reject) => socket.on('secureConnect', resolve).on('error', reject))
    expect(socket.authorized).toBe(false)
    socket.destroy()
  })

  it('with a private authority delivers, by name and by address, on one connection (webhooks/S32)', async () => {
    const { seen, receiver } = await secure(certificates.valid, { tls: { ca } }, 3)
    expect(seen).toMatchObject({ verdicts: delivered })
    expect([receiver.received.length, receiver.accepted()]).toEqual([3, 1])
    const byAddress = sinkTo({ url: receiver.url.replace('localhost', '127.0.0.1'), tls: { ca } })
    expect(await deliverOnce(byAddress, event)).toMatchObject({ verdicts: delivered })
  })

  it('shows a client certificate if one is asked for', async () => {
    const tls = { ...certificates.valid, clientCa: ca }
    const shown = await secure(tls, { tls: { ca, ...certificates.client } })
    expect(shown.seen).toMatchObject({ verdicts: delivered })
    const { seen, receiver } = await secure(tls, { tls: { ca } })
    expect(seen.verdicts).toMatchObject([{ _tag: 'Left' }])
    expect(receiver.received).toEqual([])
  })

  it('names the host, and connects again with the session of the last connection', async () => {
    const seen: unknown[] = []
    const server = createHttps(certificates.valid, (_, response) =>
      response.writeHead(200, { Connection: 'close' }).end(),
    ).on('secureConnection', (socket) => seen.push([socket.servername, socket.isSessionReused()]))
    const { port } = use(await listen(server), () => new Promise((closed) => server.close(closed)))
    const sink = sinkTo({ url: `https://localhost:${port}/`, tls: { ca } })
    for (let n = 0; n < 2; n++) expect(await deliverOnce(sink, event)).toMatchObject({ verdicts: delivered })
    expect(seen).toEqual([false, true].map((isReused) => ['localhost', isReused]))
  })
})

it('L6 constructor.prototype is sent as data; Fastify answers it 400, which is final', async () => {
  const app = Fastify()
  app.post('/', () => 'ok')
  const url = use(await app.listen({ port: 0, host: '127.0.0.1' }), () => app.close())
  const text = '{"type":"track","traits":{"constructor":{"prototype":1}}}'
  const left = { _tag: 'Refused', reason: 'status', status: 400 }
  expect((await deliverOnce(sinkTo(url), payloadOf(text))).verdicts).toMatchObject([{ left }])
  const harmless = payloadOf(text.replace('prototype', 'name'))
  expect((await deliverOnce(sinkTo(url), harmless)).verdicts).toMatchObject(delivered)
})
