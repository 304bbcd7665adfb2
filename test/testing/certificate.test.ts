import { expect, onTestFinished, test } from 'vitest'
import { webhook } from '../../src/http/webhook.ts'
import type { Payload, Sink } from '../../src/index.ts'
import { loopbackReceiver, scriptedSink, testCertificates, virtualClock } from '../../src/testing/index.ts'
import type { Misbehaviour, FaultScript, Receiver } from '../../src/testing/index.ts'
import { deliverOnce, payloadOf } from '../sink/deliverOnce.ts'
import { receiverOf } from '../support/http.ts'

const { ca, valid } = testCertificates()
const open = (script: FaultScript): Promise<Receiver> => receiverOf(script, { tls: valid })

/** What a sink says of each fault of the script, and of the healthy receiver afterwards. */
const verdictsOf = async (sink: Sink<Payload<unknown>>, script: FaultScript): Promise<unknown[]> => {
  const seen: unknown[] = []
  for (let n = 0; n <= script.length; n++) seen.push((await deliverOnce(sink, payloadOf('{}'))).verdicts)
  await sink.close({ timeout: 0 })
  return seen
}

const inMemory = (script: FaultScript, name: string): Promise<unknown[]> =>
  verdictsOf(scriptedSink({ name, clock: virtualClock(), script }), script)

const kinds = ['selfSigned', 'unknownCa', 'wrongName', 'expired'] as const
const certificateFaults = kinds.map((kind) => ({ do: 'tls', kind }) as const)

test('wrong certificates mean in memory what they mean over HTTPS: refused, without a request', async () => {
  const receiver = await open(certificateFaults)
  const seen = await verdictsOf(webhook({ url: receiver.url, tls: { ca } }), certificateFaults)
  expect(seen).toEqual(await inMemory(certificateFaults, receiver.url))
  expect(seen.slice(0, 4)).toMatchObject(
    certificateFaults.map(() => [{ left: { _tag: 'Refused', reason: 'certificate' } }]),
  )
  expect([receiver.received.length, receiver.accepted()]).toEqual([1, 5])
})

test.each<readonly [Misbehaviour, string]>([
  [{ do: 'refuse', lasting: 60_000 }, 'connection refused'],
  // The words and the time depend on whether a name server answers.
  [{ do: 'dns' }, ''],
])('%j means in memory what it means over HTTP', async (fault, detail) => {
  const unknown = { url: 'http://receiver.invalid/', close: async () => undefined }
  const { url, close } = fault.do === 'dns' ? unknown : await loopbackReceiver([fault])
  onTestFinished(() => close())
  const hook = webhook({ url, timeout: 60_000, connectWithin: 60_000 })
  const { verdicts } = await deliverOnce(hook, payloadOf('{}'))
  const [inSink] = await inMemory([fault], url)
  const left = { _tag: 'Retryable', reason: 'network', detail: expect.stringContaining(detail) }
  expect([verdicts, inSink]).toMatchObject([[{ left }], [{ left }]])
})

test('a wrong certificate may come between answers, and after a refusal', async () => {
  const receiver = await open([
    { do: 'status', code: 201 },
    ...certificateFaults.slice(0, 2),
    { do: 'status', code: 503 },
    { do: 'refuse', lasting: 0 },
    { do: 'tls', kind: 'expired' },
  ])
  const sink = webhook({ url: receiver.url, tls: { ca } })
  const seen: string[] = []
  while (receiver.received.length < 3)
    seen.push(JSON.stringify((await deliverOnce(sink, payloadOf('{}'))).verdicts))
  await sink.close({ timeout: 0 })
  const words = seen.flatMap((verdict) => /"certificate"|\b(200|201|503)\b/.exec(verdict)?.[0] ?? [])
  expect(words.join()).toBe('201,"certificate","certificate",503,"certificate",200')
})

test('what a receiver cannot play is said at once, with the way out', async () => {
  await expect(loopbackReceiver([{ do: 'dns' }])).rejects.toThrow(/scriptedNetwork/)
  await expect(loopbackReceiver([{ do: 'tls', kind: 'expired' }])).rejects.toThrow(/testCertificates/)
  const answer = await fetch((await receiverOf(() => ({ do: 'dns' }))).url)
  expect([answer.status, await answer.text()]).toEqual([500, 'a receiver cannot play dns at a request'])
})
