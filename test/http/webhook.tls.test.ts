import { connect } from 'node:tls'
import { afterEach, describe, expect, it } from 'vitest'
import { webhook, type WebhookOptions } from '../../src/http/webhook.ts'
import { loopbackReceiver, type Receiver, type TestCertificate } from '../../src/testing/loopbackReceiver.ts'
import { socketsOpen, until } from './laneKit.ts'
import { certificate, deliverOnce, payloadOf, pem, type Seen } from '../sink/deliverOnce.ts'

const event = payloadOf('{"type":"track"}')
const ca = pem('ca.cert')

interface Met {
  readonly seen: Seen
  readonly receiver: Receiver
}

const meet = async (tls: TestCertificate, options: Partial<WebhookOptions> = {}, times = 1): Promise<Met> => {
  const receiver = await loopbackReceiver([], { tls })
  const sink = webhook({ url: receiver.url, ...options })
  let seen: Seen = { verdicts: [], end: 'cancelled' }
  for (let i = 0; i < times; i++) seen = await deliverOnce(sink, event)
  await sink.close(0)()
  await receiver.close()
  return { seen, receiver }
}

afterEach(() => until(() => socketsOpen() === 0))

const delivered = { verdicts: [{ _tag: 'Right', right: { status: 200 } }], end: 'complete' }
const finalNo = (words: string): object => {
  const detail: unknown = expect.stringContaining(words)
  return { verdicts: [{ left: { _tag: 'Refused', reason: 'certificate', detail } }], end: 'complete' }
}

const wrong: ReadonlyArray<[string, Partial<WebhookOptions>, string]> = [
  ['selfSigned', {}, 'self-signed: give tls.ca'],
  ['selfSigned', { tls: { ca } }, 'self-signed'],
  ['leaf', {}, 'issuer of the certificate is unknown'],
  ['wrongName', { tls: { ca } }, 'for another host name'],
  ['expired', { tls: { ca } }, 'has expired'],
]

describe('certificates that do not verify (webhooks/S30)', () => {
  it.each(wrong)('%s %o is final, and no request is sent', async (name, options, words) => {
    const { seen, receiver } = await meet(certificate(name), options)
    expect(seen).toMatchObject(finalNo(words))
    expect(receiver.received).toEqual([])
  })

  it('an intermediate chain of a private authority is final', async () => {
    const { cert, key } = certificate('leaf')
    const { seen } = await meet({ cert: `${String(cert)}${ca}`, key })
    expect(seen).toMatchObject(finalNo('private authority: give tls.ca'))
  })

  it('stay final when the environment says otherwise (webhooks/S31)', async () => {
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
    try {
      for (const [name, options, words] of wrong) {
        const { seen, receiver } = await meet(certificate(name), options)
        expect(seen).toMatchObject(finalNo(words))
        expect(receiver.received).toEqual([])
      }
      // That the environment works at all: who leaves the option out is connected.
      const receiver = await loopbackReceiver([], { tls: certificate('selfSigned') })
      const socket = connect({ host: 'localhost', port: Number(new URL(receiver.url).port) })
      await new Promise((resolve, reject) => socket.on('secureConnect', resolve).on('error', reject))
      expect(socket.authorized).toBe(false)
      socket.destroy()
      await receiver.close()
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before
    }
  })
})

describe('TLS that is set up (webhooks/S32)', () => {
  it('with a private authority delivers, by name and by address, on one connection', async () => {
    const { seen, receiver } = await meet(certificate('leaf'), { tls: { ca } }, 3)
    expect(seen).toMatchObject(delivered)
    expect(receiver.received).toHaveLength(3)
    expect(receiver.accepted()).toBe(1)

    const other = await loopbackReceiver([], { tls: certificate('leaf') })
    const sink = webhook({ url: other.url.replace('localhost', '127.0.0.1'), tls: { ca } })
    expect(await deliverOnce(sink, event)).toMatchObject(delivered)
    await sink.close(0)()
    await other.close()
  })

  it('with the self-signed certificate itself as authority delivers', async () => {
    expect(
      (await meet(certificate('selfSigned'), { tls: { ca: pem('selfSigned.cert') } })).seen,
    ).toMatchObject(delivered)
  })

  it('shows a client certificate where one is asked for; without it nothing is delivered', async () => {
    const tls = { ...certificate('leaf'), clientCa: ca }
    const own = { ca, cert: pem('client.cert'), key: pem('client.key') }
    expect((await meet(tls, { tls: own })).seen).toMatchObject(delivered)
    const { seen, receiver } = await meet(tls, { tls: { ca } })
    expect(seen.verdicts).toMatchObject([{ _tag: 'Left' }])
    expect(receiver.received).toEqual([])
  })

  it('is for one URL only: another webhook does not trust that authority', async () => {
    expect((await meet(certificate('leaf'), { tls: { ca } })).seen).toMatchObject(delivered)
    expect((await meet(certificate('leaf'))).seen).toMatchObject(finalNo('unknown'))
  })

  it('connects again with the session of the last connection', async () => {
    const receiver = await loopbackReceiver([{ do: 'hangUp' }], { tls: certificate('leaf') })
    const sink = webhook({ url: receiver.url, tls: { ca } })
    expect((await deliverOnce(sink, event)).verdicts).toMatchObject([{ _tag: 'Left' }])
    expect(await deliverOnce(sink, event)).toMatchObject(delivered)
    expect(receiver.accepted()).toBe(2)
    await sink.close(0)()
    await receiver.close()
  })
})
