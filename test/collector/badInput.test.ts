import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { mounts, post } from './mounts.ts'
import type { Mounted } from './mounts.ts'
import { open, track } from './setting.ts'
import type { Setting } from './setting.ts'
import { batch, wrongRequests } from './wrongRequests.ts'

let here: (Setting & Mounted) | undefined
const start = async (mount: keyof typeof mounts): Promise<Setting & Mounted> => {
  const setting = open()
  here = { ...setting, ...(await mounts[mount](setting.collector)) }
  return here
}

afterEach(async () => {
  await here?.close()
  await here?.collector.close({ timeout: 0 })
  here = undefined
})

/** What was sent, in its own words, must not come back. */
const reasonsIn = (body: unknown): string => JSON.stringify(body)

describe.each(['listener', 'handle'] as const)('%s', (mount) => {
  it.each(wrongRequests)(
    'answers $what with $status',
    async ({ path = '/v1/batch', method, headers, body, status, reason, answers }) => {
      const { url, collector, outcomes } = await start(mount)
      const reply = await post(url + path, body, headers, method)
      expect([reply.status, reasonsIn(reply.body)]).toEqual([status, expect.stringContaining(reason)])
      expect(reply.body).toMatchObject({ ok: false })
      expect(reply.headers.get('content-type')).toBe('application/json')
      for (const [name, value] of Object.entries(answers ?? {})) expect(reply.headers.get(name)).toBe(value)
      // The next one is answered all the same, on whatever connection it comes.
      expect((await post(`${url}/v1/batch`, batch(track('next')))).status).toBe(200)
      expect(outcomes.map(({ outcome }) => outcome.item.id)).toEqual(['next'])
      const { received, accepted, refused } = collector.stats()
      expect([accepted, received - accepted]).toEqual([1, refused])
    },
  )

  it('never says what was sent', async () => {
    const { url } = await start(mount)
    const secret = 's3cr3t'
    for (const body of [
      `{"batch":[${secret}`,
      batch({ type: secret, userId: { secret } }, track('a', { properties: secret, context: [secret] })),
      { batch: secret, writeKey: secret },
    ]) {
      expect(JSON.stringify((await post(`${url}/v1/batch`, body)).body)).not.toContain(secret)
    }
  })

  it('names one bad message among good ones, and takes the others', async () => {
    const { url, ids, collector } = await start(mount)
    const large = track('large', { properties: { text: 'x'.repeat(32_768) } })
    const reply = await post(
      `${url}/v1/batch`,
      batch(track('a'), { type: 'track', userId: 5, messageId: 'b' }, track('c'), large, 7, track('d')),
    )
    expect(reply.status).toBe(200)
    expect(reply.body).toEqual({
      ok: false,
      receivedEvents: 6,
      okEvents: 3,
      errors: [
        {
          index: 1,
          messageId: 'b',
          reason:
            'event: is missing: it must be a string that is not empty; userId: must be a string, not a number',
        },
        { index: 3, messageId: 'large', reason: expect.stringContaining('the limit is 32768') as unknown },
        { index: 4, reason: expect.stringContaining('must be an object') as unknown },
      ],
    })
    expect(ids()).toEqual(['a', 'c', 'd'])
    expect(collector.stats()).toMatchObject({
      received: 6,
      accepted: 3,
      refused: 3,
      reasons: { Invalid: 2, TooLarge: 1, Full: 0 },
      answers: { 200: 1 },
      sources: { web: { received: 6, accepted: 3, refused: 3 }, off: { received: 0 } },
    })
  })

  it('accepts the same id as often as it comes: who receives can tell', async () => {
    const { url, ids } = await start(mount)
    expect((await post(`${url}/v1/batch`, batch(track('a'), track('a')))).body).toMatchObject({ okEvents: 2 })
    expect((await post(`${url}/v1/batch`, batch(track('a')))).body).toMatchObject({ okEvents: 1 })
    expect(ids()).toEqual(['a', 'a', 'a'])
  })

  it('takes a message of 32,768 bytes and a body of 512,000, and no byte more', async () => {
    const { url, ids } = await start(mount)
    const sized = (id: string, bytes: number): string => {
      const text = (length: number): string =>
        JSON.stringify(track(id, { properties: { text: 'é'.repeat(length >> 1) + 'x'.repeat(length % 2) } }))
      return text(bytes - text(0).length)
    }
    expect(Buffer.byteLength(sized('fits', 32_768))).toBe(32_768)
    const reply = await post(
      `${url}/v1/batch`,
      `{"batch":[${sized('fits', 32_768)},${sized('over', 32_769)}]}`,
    )
    expect(reply.body).toMatchObject({ okEvents: 1, errors: [{ index: 1, messageId: 'over' }] })
    expect((await post(`${url}/v1/track`, sized('alone', 32_768))).status).toBe(200)
    expect((await post(`${url}/v1/track`, sized('alone too', 32_769))).status).toBe(413)
    const whole = JSON.stringify(batch(track('padded')))
    expect((await post(`${url}/v1/batch`, whole.padEnd(512_000, ' '))).status).toBe(200)
    expect((await post(`${url}/v1/batch`, whole.padEnd(512_001, ' '))).status).toBe(413)
    const packed = (bytes: number) =>
      post(`${url}/v1/batch`, gzipSync(whole.padEnd(bytes, ' ')), { 'Content-Encoding': 'gzip' })
    expect((await packed(512_000)).status).toBe(200)
    expect((await packed(512_001)).status).toBe(413)
    expect(ids()).toEqual(['fits', 'alone', 'padded', 'padded'])
  })
})
