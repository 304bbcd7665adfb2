import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { signerOf } from '../../src/signing/sign.ts'
import type { Round } from '../../src/sink/sink.ts'
import { onlyAttempt } from '../../src/sink/sink.ts'
import { until } from './laneKit.ts'
import { deliverOnce, payloadOf } from '../sink/deliverOnce.ts'
import { webhooksUnderTest } from './webhooksUnderTest.ts'

const { receive, sinkTo } = webhooksUnderTest()

const event = payloadOf('{"type":"track","event":"Café ☕ 😀","userId":"u"}')
const hmac = (secret: string, body: string): string => createHmac('sha1', secret).update(body).digest('hex')

describe('what a webhook sends', () => {
  it('is a POST of the very bytes, with the headers of the source and no others', async () => {
    const receiver = await receive()
    await deliverOnce(sinkTo(`${receiver.url}hook/1?a=b`), event)
    const [request] = receiver.received
    expect(request).toMatchObject({ method: 'POST', path: '/hook/1?a=b' })
    expect(String(request?.body)).toBe(event.text)
    expect(request?.headers).toEqual({
      host: new URL(receiver.url).host,
      connection: 'keep-alive',
      'content-type': 'application/json',
      'user-agent': 'headrace/1.0',
      'content-length': String(event.byteLength),
    })
  })

  it('carries X-Signature only with a secret: the own one, else that of the payload (DE10)', async () => {
    const receiver = await receive()
    const signer = signerOf('of the payload')
    const plain = sinkTo(`${receiver.url}plain`)
    const own = sinkTo({ url: `${receiver.url}own`, secret: 'of the sink' })
    await deliverOnce(plain, event)
    await deliverOnce(plain, { ...event, signer })
    await deliverOnce(own, event)
    await deliverOnce(own, { ...event, signer })
    expect(receiver.received.map(({ headers }) => headers['x-signature'])).toEqual([
      undefined,
      hmac('of the payload', event.text),
      hmac('of the sink', event.text),
      hmac('of the sink', event.text),
    ])
  })

  it('is the same each time: three attempts, three identical requests (BY1, DE6)', async () => {
    const receiver = await receive([
      { do: 'status', code: 503 },
      { do: 'status', code: 503 },
    ])
    const sink = sinkTo({ url: receiver.url, secret: 'correct horse', headers: { 'X-Key': 'k' } })
    for (let number = 1; number <= 3; number++)
      await deliverOnce(sink, event, { attempt: { ...onlyAttempt, number } })
    const requests = receiver.received.map(({ body, rawHeaders }) => ({
      body: body.toString('hex'),
      rawHeaders,
    }))
    expect(requests).toHaveLength(3)
    expect(requests[1]).toEqual(requests[0])
    expect(requests[2]).toEqual(requests[0])
  })

  it('keeps static headers to their URL, in their spelling (DE11)', async () => {
    const [one, other] = [await receive(), await receive()]
    const sinks = [
      sinkTo({ url: one.url, headers: { 'X-API-Key': 'one', 'x-empty': '' } }),
      sinkTo({ url: other.url, headers: { 'X-Other': 'two' }, userAgent: 'headrace-node/0.1.0' }),
    ]
    for (const sink of sinks) await deliverOnce(sink, event)
    expect(one.received[0]?.rawHeaders).toEqual(expect.arrayContaining(['X-API-Key', 'one', 'x-empty', '']))
    expect(JSON.stringify(other.received[0]?.rawHeaders)).not.toMatch(/api-key|one/i)
    expect(other.received[0]?.headers).toMatchObject({
      'x-other': 'two',
      'user-agent': 'headrace-node/0.1.0',
    })
  })

  it('takes nothing for its URL or headers from an event (webhooks/S23)', async () => {
    const receiver = await receive()
    const text = '{"header":{"X-Evil":"1"},"fullPath":"/evil","url":"http://127.0.0.1:9/"}'
    await deliverOnce(sinkTo(receiver.url), payloadOf(text))
    expect(receiver.received[0]).toMatchObject({ path: '/' })
    expect(receiver.received[0]?.headers).not.toHaveProperty('x-evil')
  })

  it('carries the message id in a header of your choice, whatever the id is (EV2)', async () => {
    const receiver = await receive()
    const sink = sinkTo({ url: receiver.url, messageIdHeader: 'X-Message-Id' })
    for (const id of ['a.b-c_1', 'ü \r\nX-Evil: 1', 'half \ud83d'])
      await deliverOnce(sink, payloadOf('{}', { id }))
    expect(receiver.received.map(({ headers }) => headers['x-message-id'])).toEqual([
      'a.b-c_1',
      '%C3%BC%20%0D%0AX-Evil%3A%201',
      'half%20%EF%BF%BD',
    ])
    expect(receiver.received[1]?.headers).not.toHaveProperty('x-evil')
  })

  it('writes the envelope of a batch when it is sent', async () => {
    const receiver = await receive()
    const frame = { prefix: '{"batch":[', suffix: ']}' }
    const members = [payloadOf('{"a":1}'), payloadOf('{"a":2}')]
    const payload = { id: 'b-1', items: [1, 2], members, byteLength: 27, frame, closedBy: 'count' } as const
    await deliverOnce(sinkTo(receiver.url), payload)
    expect(String(receiver.received[0]?.body)).toBe('{"batch":[{"a":1},{"a":2}]}')
  })
})

describe('the sinks of one round', () => {
  const counted = (): { signer: (body: string | Uint8Array) => string; calls: () => number } => {
    let calls = 0
    const inner = signerOf('correct horse')
    return {
      signer: (body) => {
        calls++
        return inner(body)
      },
      calls: () => calls,
    }
  }

  it('share bytes and signature: one for each body and secret (DE10)', async () => {
    const receiver = await receive()
    const { signer, calls } = counted()
    const urls = ['a', 'b', 'c', 'd', 'e'].map((path) => receiver.url + path)
    const sinks = urls.map((url, at) => sinkTo(at % 2 === 0 ? url : { url, secret: 'another' }))
    const round: Round = { wire: undefined }
    await Promise.all(
      sinks.map((sink) => deliverOnce(sink, { ...event, signer }, { attempt: { ...onlyAttempt, round } })),
    )
    expect(calls()).toBe(3)

    const shared: Round = { wire: undefined }
    const one = { ...event, signer }
    await Promise.all(
      sinks.map((sink) => deliverOnce(sink, one, { attempt: { ...onlyAttempt, round: shared } })),
    )
    expect(calls()).toBe(4)
    expect(shared.wire?.bytes).toBeDefined()
    expect(new Set(receiver.received.map(({ headers }) => headers['x-signature']))).toEqual(
      new Set([hmac('correct horse', event.text), hmac('another', event.text)]),
    )
  })

  it('share nothing of another payload', async () => {
    const receiver = await receive()
    const sink = sinkTo({ url: receiver.url, secret: 'correct horse' })
    const round: Round = { wire: undefined }
    for (const text of ['{"a":1}', '{"a":2}'])
      await deliverOnce(sink, payloadOf(text), { attempt: { ...onlyAttempt, round } })
    expect(receiver.received.map(({ body, headers }) => [String(body), headers['x-signature']])).toEqual([
      ['{"a":1}', hmac('correct horse', '{"a":1}')],
      ['{"a":2}', hmac('correct horse', '{"a":2}')],
    ])
  })
})

describe('two webhooks', () => {
  it('a path that hangs holds back no sister path of the same host (DE8)', async () => {
    const receiver = await receive(({ path }) =>
      path === '/hangs' ? { do: 'silence' } : { do: 'status', code: 200 },
    )
    const [hanging, sister] = [sinkTo(`${receiver.url}hangs`), sinkTo(`${receiver.url}sister`)]
    const stop = receiver.arrived(16 + 40)
    const stuck = Array.from({ length: 40 }, () => deliverOnce(hanging, event, { cut: stop }))
    await receiver.arrived(16)
    const seen = await Promise.all(Array.from({ length: 40 }, () => deliverOnce(sister, event)))
    expect(seen.every(({ verdicts }) => verdicts[0]?._tag === 'Right')).toBe(true)
    expect(
      (await Promise.all(stuck)).every(({ end, verdicts }) => end === 'cancelled' && verdicts.length === 0),
    ).toBe(true)
  })

  it('have names of their own that print no query', () => {
    const url = 'https://receiver.example/hook?token=hunter2'
    const names = [url, 'https://receiver.example/hook?token=other', 'https://receiver.example/hook'].map(
      (each) => sinkTo(each).name,
    )
    expect(new Set(names).size).toBe(3)
    expect(names[0]).toMatch(/^https:\/\/receiver\.example\/hook\?[0-9a-f]{8}$/)
    expect(names[2]).toBe('https://receiver.example/hook')
    expect(sinkTo(url).name).toBe(names[0])
  })
})

describe('the table of statuses', () => {
  it('can be the own one', async () => {
    const receiver = await receive([{ do: 'status', code: 404 }])
    const sink = sinkTo({ url: receiver.url, statuses: [{ from: 404, to: 404, means: 'retry' }] })
    const { verdicts } = await deliverOnce(sink, event)
    expect(verdicts).toMatchObject([{ left: { _tag: 'Retryable', reason: 'status', status: 404 } }])
  })
})

describe('a cold delivery', () => {
  it('does nothing before it is subscribed, and each subscription is a delivery of its own', async () => {
    const receiver = await receive()
    const sink = sinkTo(receiver.url)
    const delivery = sink.deliver(event, onlyAttempt)
    expect(receiver.accepted()).toBe(0)
    delivery.subscribe()
    delivery.subscribe()
    await receiver.arrived(2)
    await until(() => receiver.received.length === 2)
  })
})
