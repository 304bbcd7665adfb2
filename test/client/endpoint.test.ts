/** A client against a real server on loopback. */
import { isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Client } from '../../src/client/client.ts'
import type { ClientOptions } from '../../src/client/options.ts'
import { createClient } from '../../src/client/createClient.ts'
import { version } from '../../src/core/package.ts'
import {
  loopbackReceiver,
  type Misbehaviour,
  type FaultScript,
  type Received,
} from '../../src/testing/index.ts'
import { event } from './virtual.ts'

interface Posted {
  readonly batch: ReadonlyArray<{ readonly messageId: string }>
  readonly sentAt: string
}

const bodyOf = ({ body }: Received): Posted => JSON.parse(body.toString()) as Posted
const idsOf = (received: Received): string =>
  bodyOf(received)
    .batch.map(({ messageId }) => messageId)
    .join()

const open = async (
  script: FaultScript | ((received: Received) => Misbehaviour),
  options: ClientOptions = {},
) => {
  const endpoint = await loopbackReceiver(script)
  const ended: string[] = []
  const client = createClient('the write key', {
    endpoint: endpoint.url,
    logger: false,
    random: () => 0,
    drainOnExit: false,
    ...options,
  })
  client.outcomes$.subscribe((outcome) => ended.push(`${outcome._tag} ${outcome.item.id}`))
  onTestFinished(async () => {
    await client.close({ timeout: 0 })
    await endpoint.close()
  })
  const track = (...ids: ReadonlyArray<string>): void => {
    for (const id of ids) expect(isRight(client.track(event(id)))).toBe(true)
  }
  return { endpoint, client, ended, track }
}

describe('a client and its endpoint', () => {
  it('11: posts JSON to /v1/batch with the key, our name and the exact length', async () => {
    const { endpoint, client, track } = await open([], { headers: { 'X-Team': 'blue' } })
    track('é', 'b')
    await client.flush()
    const [first] = endpoint.received
    expect(first).toMatchObject({
      method: 'POST',
      path: '/v1/batch',
      headers: {
        'content-type': 'application/json',
        authorization: `Basic ${Buffer.from('the write key:').toString('base64')}`,
        'user-agent': `headrace-node/${version}`,
        'content-length': String(first?.body.length),
        'x-retry-count': '0',
        'x-team': 'blue',
      },
    })
  })

  it('12: an endpoint with a path of its own', async () => {
    const endpoint = await loopbackReceiver()
    onTestFinished(() => endpoint.close())
    for (const path of ['', 'v1/import/', 'in?source=a'])
      await using(createClient('key', { endpoint: new URL(path, endpoint.url), size: 1 }))
    expect(endpoint.received.map(({ path }) => path)).toEqual(['/v1/batch', '/v1/import/', '/in?source=a'])
  })

  it('27: one bad message of twenty costs one message', async () => {
    const poisoned = (received: Received): Misbehaviour => ({
      do: 'status',
      code: idsOf(received).split(',').includes('m7') ? 400 : 200,
    })
    const { endpoint, client, ended, track } = await open(poisoned)
    track(...Array.from({ length: 20 }, (_, n) => `m${String(n)}`))
    const totals = await client.flush()
    expect(totals).toMatchObject({ delivered: 19, rejected: 1 })
    expect(ended[7]).toBe('Rejected m7')
    expect(endpoint.received.length).toBeLessThanOrEqual(1 + 2 * Math.ceil(Math.log2(20)))
    expect(client.stats()).toMatchObject({ attempts: 1, requests: endpoint.received.length })
  })

  it('30: 503, 503, 200: the same messages in the same order, a fresh sentAt, and the attempt in a header', async () => {
    const busy: Misbehaviour = { do: 'status', code: 503 }
    const { endpoint, client, track } = await open([busy, busy])
    track('a', 'b')
    expect(await client.flush()).toMatchObject({ delivered: 2 })
    expect(endpoint.received.map(idsOf)).toEqual(['a,b', 'a,b', 'a,b'])
    expect(endpoint.received.map(({ headers }) => headers['x-retry-count'])).toEqual(['0', '1', '2'])
    const sentAt = endpoint.received.map((each) => Date.parse(bodyOf(each).sentAt))
    expect(sentAt).toEqual(sentAt.toSorted((a, b) => a - b))
  })

  it('P6: what is on the wire has the bytes that were said', async () => {
    const { endpoint, client } = await open([], { size: 7 })
    for (let n = 0; n < 30; n++)
      client.track({ ...event(`m${String(n)}`), properties: { text: 'ä😀x'.repeat(n), half: '\ud800' } })
    let bytes = 0
    client.outcomes$.subscribe(({ item }) => (bytes += item.byteLength))
    await client.flush()
    const sizes = endpoint.received.map(({ body }) => body.length)
    const texts =
      sizes.reduce((sum, size) => sum + size, 0) -
      endpoint.received.reduce((sum, each) => sum + 48 + bodyOf(each).batch.length - 1, 0)
    expect(texts).toBe(bytes)
  })

  it('U8: after a close no connection is open', async () => {
    const { endpoint, client, track } = await open([], { concurrency: 4, size: 1 })
    track('a', 'b', 'c', 'd')
    await client.close()
    await expect.poll(() => endpoint.connections()).toBe(0)
  })
})

const using = async (client: Client): Promise<void> => {
  client.track(event('a'))
  await client.close()
}
