import { afterEach, describe, expect, it } from 'vitest'
import { ingestion, type IngestionOptions } from '../../src/http/ingestion.ts'
import { loopbackReceiver, type Receiver } from '../../src/testing/loopbackReceiver.ts'
import { socketsOpen, until } from './laneKit.ts'
import { batch } from './batchServer.ts'
import { certificate, deliverOnce, pem, type Seen } from '../sink/deliverOnce.ts'

afterEach(() => until(() => socketsOpen() === 0))

const ca = pem('ca.cert')

const meet = async (
  name: string,
  options: IngestionOptions = {},
): Promise<{ readonly seen: Seen; readonly receiver: Receiver }> => {
  const receiver = await loopbackReceiver([], { tls: certificate(name) })
  const sink = ingestion(receiver.url, 'key', options)
  const seen = await deliverOnce(sink, batch('a', 'b'))
  await sink.close(0)()
  await receiver.close()
  return { seen, receiver }
}

const wrong: ReadonlyArray<[string, IngestionOptions]> = [
  ['selfSigned', {}],
  ['selfSigned', { tls: { ca } }],
  ['leaf', {}],
  ['wrongName', { tls: { ca } }],
  ['expired', { tls: { ca } }],
]

describe('TLS to an endpoint', () => {
  it.each(wrong)('%s %o is final, and neither a message nor the key goes out', async (name, options) => {
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
    try {
      const { seen, receiver } = await meet(name, options)
      expect(seen).toMatchObject({
        verdicts: [{ left: { _tag: 'Refused', reason: 'certificate' } }],
        end: 'complete',
      })
      expect(receiver.received).toEqual([])
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before
    }
  })

  it('with a private authority delivers', async () => {
    const { seen, receiver } = await meet('leaf', { tls: { ca } })
    expect(seen).toMatchObject({ verdicts: [{ right: { status: 200 } }], end: 'complete' })
    expect(receiver.received[0]?.headers['authorization']).toBe('Basic a2V5Og==')
  })
})

describe('addresses that are not dialled', () => {
  it.each([
    ['http://169.254.169.254/', {}],
    ['http://[::ffff:169.254.169.254]/', {}],
    ['http://127.0.0.1:9/', { egress: 'public' }],
    ['http://10.0.0.1/', { egress: 'public' }],
  ] satisfies ReadonlyArray<[string, IngestionOptions]>)(
    '%s %o is refused when it is made',
    (url, options) => {
      expect(() => ingestion(url, 'key', options)).toThrow(
        'endpoint points to an address that is not allowed',
      )
    },
  )

  it('an allow list opens one', async () => {
    const receiver = await loopbackReceiver()
    const sink = ingestion(receiver.url, 'key', { egress: { to: 'public', allow: ['127.0.0.0/8'] } })
    expect(await deliverOnce(sink, batch('a'))).toMatchObject({ verdicts: [{ _tag: 'Right' }] })
    await sink.close(0)()
    await receiver.close()
  })
})
