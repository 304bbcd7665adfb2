import { createServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { webhook } from '../../src/http/webhook.ts'
import type { Fault } from '../../src/testing/faults.ts'
import { loopbackReceiver, type Receiver } from '../../src/testing/loopbackReceiver.ts'
import { socketsOpen, until } from './laneKit.ts'
import { certificate, deliverOnce, payloadOf, type Seen } from '../sink/deliverOnce.ts'

const event = payloadOf('{"type":"track"}')

interface Met {
  readonly seen: Seen
  readonly receiver: Receiver
}

/** Delivers once to a receiver that does this; cut off soon after the request has come, or after the verdict. */
const meet = async (fault: Fault, cut?: 'after the request' | 'after the verdict'): Promise<Met> => {
  const receiver = await loopbackReceiver([fault])
  const sink = webhook(receiver.url)
  const soon = receiver.arrived(1).then(() => new Promise((resolve) => setTimeout(resolve, 20)))
  const how = { 'after the request': soon, 'after the verdict': 'after the verdict' } as const
  const seen = await deliverOnce(sink, event, cut === undefined ? {} : { cut: how[cut] })
  await sink.close(0)()
  await until(() => receiver.connections() === 0)
  await receiver.close()
  return { seen, receiver }
}

afterEach(() => until(() => socketsOpen() === 0))

const delivered = [{ _tag: 'Right', right: { status: 200 } }]
const network = [{ _tag: 'Left', left: { _tag: 'Retryable', reason: 'network' } }]

describe('a receiver that answers', () => {
  it.each([200, 201, 202, 204, 226])('%d is delivered', async (code) => {
    const { seen } = await meet({ do: 'status', code })
    expect(seen).toMatchObject({ verdicts: [{ _tag: 'Right', right: { status: code } }], end: 'complete' })
  })

  it.each([300, 301, 302, 303, 304, 307, 308])(
    '%d is final, and one request is seen (webhooks/S10, S11)',
    async (code) => {
      for (const to of ['self', 'other'] as const) {
        const { seen, receiver } = await meet({ do: 'redirect', to, code })
        expect(seen).toMatchObject({
          verdicts: [{ left: { _tag: 'Refused', reason: 'redirect', status: code } }],
          end: 'complete',
        })
        expect(receiver.received).toHaveLength(1)
      }
    },
  )

  it.each([400, 401, 403, 404, 405, 409, 410, 413, 422, 451])('%d is final', async (code) => {
    const { seen } = await meet({ do: 'status', code })
    expect(seen).toMatchObject({ verdicts: [{ left: { _tag: 'Refused', reason: 'status', status: code } }] })
  })

  it.each([408, 425, 429, 500, 501, 502, 503, 504, 505, 599])('%d may be retried', async (code) => {
    const { seen } = await meet({ do: 'status', code })
    expect(seen).toMatchObject({
      verdicts: [{ left: { _tag: 'Retryable', reason: 'status', status: code } }],
    })
  })

  it('asks for time with Retry-After', async () => {
    const before = Date.now()
    const { seen } = await meet({ do: 'status', code: 429, headers: { 'Retry-After': '120' } })
    const [verdict] = seen.verdicts
    if (verdict?._tag !== 'Left' || verdict.left._tag !== 'Retryable') throw new Error('no retryable failure')
    // Two clocks that start within a millisecond of each other.
    expect(verdict.left.notBefore).toBeGreaterThanOrEqual(before + 120_000 - 5)
  })
})

describe('a receiver that breaks', () => {
  it.each<Fault>([
    { do: 'reset' },
    { do: 'reset', after: 5 },
    { do: 'hangUp' },
    { do: 'garbage' },
    { do: 'hugeHeader' },
    { do: 'refuse' },
  ])('may be retried: %o', async (fault) => {
    const { seen } = await meet(fault)
    expect(seen).toMatchObject({ verdicts: network, end: 'complete' })
  })

  it.each<Fault>([{ do: 'silence' }, { do: 'early' }, { do: 'status', code: 200, after: 60_000 }])(
    'has no verdict before the time is up: %o (webhooks/S24, S29)',
    async (fault) => {
      const { seen } = await meet(fault, 'after the request')
      expect(seen).toEqual({ verdicts: [], end: 'cancelled' })
    },
  )

  it.each<Fault>([
    { do: 'headersOnly', code: 200 },
    { do: 'slowBody', code: 200, bytesPerSecond: 100 },
  ])(
    'after the status has delivered; the socket goes when the time is up: %o (webhooks/S25, S28)',
    async (fault) => {
      const { seen } = await meet(fault, 'after the verdict')
      expect(seen).toMatchObject({ verdicts: delivered, end: 'cancelled' })
    },
  )

  it.each<Fault>([
    { do: 'truncate', code: 200, at: 10 },
    { do: 'hugeBody', code: 200 },
    { do: 'gzipBomb', code: 200 },
  ])('after the status has delivered, and is read no further: %o (webhooks/S26, S27)', async (fault) => {
    const { seen } = await meet(fault)
    expect(seen).toMatchObject({ verdicts: delivered, end: 'complete' })
  })

  it('after another status has its verdict by that status too', async () => {
    const { seen } = await meet({ do: 'hugeBody', code: 500 })
    expect(seen).toMatchObject({ verdicts: [{ left: { status: 500 } }], end: 'complete' })
  })

  it('with an interim answer that never asked for may be retried', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.write('HTTP/1.1 100 Continue\r\n\r\n'))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    if (typeof address !== 'object' || address === null) throw new Error('no port')
    const sink = webhook(`http://127.0.0.1:${address.port}/`)
    expect(await deliverOnce(sink, event)).toMatchObject({ verdicts: network, end: 'complete' })
    await sink.close(0)()
    await new Promise((resolve) => server.close(resolve))
  })
})

describe('a receiver that is not there', () => {
  it('by its name: may be retried, and says so', async () => {
    const sink = webhook('http://no-such-host.invalid/')
    const { verdicts } = await deliverOnce(sink, event)
    expect(verdicts).toMatchObject([{ left: { _tag: 'Retryable', reason: 'network' } }])
    expect(JSON.stringify(verdicts)).toContain('no request was sent')
    await sink.close(0)()
  })

  it('at a name that is bad by itself: final', async () => {
    expect(() => webhook('http://metadata.google.internal/')).toThrow('credentials')
  })

  it('http to a TLS port and TLS to an http port may be retried', async () => {
    const plain = await loopbackReceiver()
    const secure = await loopbackReceiver([], { tls: certificate('leaf') })
    for (const url of [plain.url.replace('http:', 'https:'), secure.url.replace('https:', 'http:')]) {
      const sink = webhook(url)
      expect(await deliverOnce(sink, event)).toMatchObject({ verdicts: network, end: 'complete' })
      await sink.close(0)()
    }
    expect([...plain.received, ...secure.received]).toEqual([])
    await plain.close()
    await secure.close()
  })
})
