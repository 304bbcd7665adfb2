/** A client against a real server on loopback. */
import { isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createClient, type ClientOptions } from '../../src/client/index.ts'
import { version } from '../../src/core/package.ts'
import { loopbackReceiver } from '../../src/testing/index.ts'
import { event } from './virtual.ts'

const open = async (options: ClientOptions, path = '') => {
  const endpoint = await loopbackReceiver()
  const client = createClient('the write key', {
    endpoint: new URL(path, endpoint.url),
    logger: false,
    drainOnExit: false,
    ...options,
  })
  onTestFinished(async () => {
    await client.close({ timeout: 0 })
    await endpoint.close()
  })
  const track = (...ids: ReadonlyArray<string>): void => {
    for (const id of ids) expect(isRight(client.track(event(id)))).toBe(true)
  }
  return { endpoint, client, track }
}

describe('a client and its endpoint', () => {
  it('11, 12: posts JSON to the path of its endpoint with the key, our name and the exact length', async () => {
    const { endpoint, client, track } = await open({ headers: { 'X-Team': 'blue' } }, 'in?source=a')
    track('é', 'b')
    await client.flush()
    const [first] = endpoint.received
    expect(first).toMatchObject({
      method: 'POST',
      path: '/in?source=a',
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
})
