import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { ask, basic, open, post, start, track } from './kit.ts'

const batch = (...messages: ReadonlyArray<unknown>): object => ({ batch: messages })

describe('a path', () => {
  it.each([
    ...['/v1/batch', '/v1/batch/', '/v1/batch//', '/v1/import', '/v1/batch?x=/v1/track', '/a/b/v1/batch'],
    ...['/v1/import/#x', '/v1/track', '/x/v1/track/?y'],
  ])('such as %s has an endpoint', async (path) => {
    const { collector, ids } = open()
    const body = path.includes('batch') || path.includes('import') ? batch(track('a')) : track('a')
    expect([(await ask(collector, path, body)).status, ids()]).toEqual([200, ['a']])
  })

  it('that is as long as can be costs no time', async () => {
    const path = `${'/v1/a'.repeat(20_000)}${'/'.repeat(100_000)}x`
    expect((await ask(open().collector, path, {})).status).toBe(404)
  })
})

interface Sent {
  readonly path?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly answers?: Readonly<Record<string, string>>
}

const wrong = (what: string, status: number, reason: string, by: Sent) => ({ what, status, reason, ...by })
type Wrong = ReturnType<typeof wrong>

const good = batch(track('a'))
const text = (length: number): object => ({ properties: { text: 'x'.repeat(length) } })
const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
const nested = `{"batch":[{"type":"track","userId":"u","event":"e","properties":{"d":${deep}}}]}`
const malformed = (what: string, body: unknown, reason: string): Wrong => wrong(what, 400, reason, { body })

const unknownTo = (what: string, Authorization: string, body: object = good): Wrong =>
  wrong(what, 401, 'write key', {
    headers: { Authorization },
    body,
    answers: { 'WWW-Authenticate': 'Basic realm="headrace", charset="UTF-8"' },
  })

const nowhere = (path: string): Wrong =>
  wrong(`the path ${path}`, 404, 'there is nothing here', { path, body: good })

const notPosted = (method: string): Wrong =>
  wrong(method, 405, 'only POST', { method, body: good, answers: { Allow: 'POST' } })

const typed = (type: string): Wrong =>
  wrong(`the type ${type}`, 415, 'application/json', { headers: { 'Content-Type': type }, body: good })

const coded = (what: string, coding: string, body: unknown, status: number, reason: string): Wrong =>
  wrong(what, status, reason, { headers: { 'Content-Encoding': coding }, body })

const off = (what: string, Authorization: string, more: object = {}): Wrong =>
  wrong(what, 404, 'switched off', { headers: { Authorization }, body: { ...good, ...more } })

const wrongRequests: ReadonlyArray<Wrong> = [
  malformed('malformed JSON', '{"batch":[}', 'not JSON at character 11'),
  malformed('JSON that ends too early', '{"batch":[{"type":"tr', 'not JSON at character 22'),
  malformed('an empty body', '', 'not JSON at character 1'),
  malformed('bytes that are no text', new Uint8Array([0x22, 0xff, 0x22]), 'not UTF-8'),
  malformed('an array', [track('a')], 'must be an object with a batch'),
  malformed('null', 'null', 'must be an object with a batch'),
  malformed('no batch', {}, 'must have a batch'),
  malformed('a batch that is none', { batch: { 0: track('a') } }, 'must have a batch'),
  malformed('an inherited batch', '{"__proto__":{"batch":[]}}', 'must have a batch'),
  malformed('an empty batch', batch(), 'the batch is empty'),
  malformed('a context that is none', { ...good, context: 'x' }, 'context must be an object'),
  malformed('integrations that are none', { ...good, integrations: [] }, 'integrations must be an object'),
  malformed('messages that are none', batch(1, null, 'x', []), 'must be an object'),
  malformed('a deletion in a batch', batch({ type: 'delete', userId: 'u' }), 'post deletions to /v1/delete'),
  malformed('a kind that is none', batch({ type: 'merge', userId: 'u' }), 'type: must be one of'),
  malformed('nothing but a large message', batch(track('big', text(40_000))), 'the limit is 32768'),
  malformed('a message that is nested too deeply', nested, 'nested deeper than 256'),
  wrong('a single message that is none', 400, 'must be an object', { path: '/v1/track', body: '5' }),
  wrong('a deletion without a userId', 400, 'userId: is missing', { path: '/v1/delete', body: {} }),
  wrong('a long deletion', 400, 'the limit', { path: '/v1/delete', body: { userId: 'x'.repeat(40_000) } }),
  unknownTo('an unknown key', basic('other:'), { ...good, writeKey: 'wk' }),
  unknownTo('half a key', basic('w:k')),
  unknownTo('an empty key', basic(':wk')),
  unknownTo('another scheme', 'Bearer wk'),
  unknownTo('Basic and no base64', 'Basic ???'),
  unknownTo('an unknown key in the body', '', { ...good, writeKey: 'x' }),
  unknownTo('a key that is no text', '', { ...good, writeKey: 5 }),
  unknownTo('no key at all', ''),
  off('a source that is off', basic('off:')),
  off('a source that is off, by its body', '', { writeKey: 'off' }),
  wrong('a deletion that is not allowed', 403, 'deletions: true', {
    path: '/v1/delete',
    headers: { Authorization: basic('keeping:') },
    body: { userId: 'u' },
  }),
  ...['/', '/v1/events', '/v2/batch', '/v1/batch/more', '/v1', '/batch', '/v1/%62atch'].map(nowhere),
  ...['/v1/BATCH', '/v1//batch', '/v1/constructor', '/xv1/batch', '/?/v1/batch', '/v1/'].map(nowhere),
  ...['GET', 'OPTIONS', 'PUT', 'DELETE'].map(notPosted),
  ...['application/x-www-form-urlencoded', 'application/jsonp', 'text/html; charset=utf-8'].map(typed),
  coded('an unknown coding', 'br', good, 415, 'gzip'),
  coded('gzip twice', 'gzip, gzip', good, 415, 'gzip'),
  coded('gzip that is none', 'gzip', good, 400, 'gzip, and is not'),
  coded('half a gzip', 'gzip', gzipSync('{"batch":[]}').subarray(0, 20), 400, 'gzip, and is not'),
  coded('a gzip bomb', 'gzip', gzipSync(Buffer.alloc(100_000_000, 0x20)), 413, 'more than 512000 bytes'),
  wrong('5 MB', 413, 'more than 512000 bytes', { body: batch(track('big', text(5_000_000))) }),
  wrong('more messages than can be right', 413, 'more than 17656 messages', {
    body: batch(...Array.from({ length: 100_000 }, () => 1)),
  }),
  wrong('a single message that is too large', 413, 'the limit is 32768', {
    path: '/v1/track',
    body: track('big', text(32_768)),
  }),
]

describe.each(['listener', 'handle'] as const)('requests to %s', (mount) => {
  it('that are wrong are answered with their status and reason, and the connection stays usable', async () => {
    const { url, collector, ids } = await start(mount)
    for (const each of wrongRequests) {
      const { what, path = '/v1/batch', method, headers, body, status, reason, answers } = each
      const reply = await post(url + path, body, headers, method)
      const said = [what, reply.status, JSON.stringify(reply.body)]
      expect(said).toEqual([what, status, expect.stringContaining(reason)])
      expect(reply.body).toMatchObject({ ok: false })
      expect(reply.headers.get('content-type')).toBe('application/json')
      for (const [name, value] of Object.entries(answers ?? {})) expect(reply.headers.get(name)).toBe(value)
      expect((await post(`${url}/v1/batch`, batch(track('next')))).status).toBe(200)
    }
    expect(new Set(ids())).toEqual(new Set(['next']))
    expect(collector.stats().accepted).toBe(wrongRequests.length)
  })

  it('never repeat what was sent', async () => {
    const { url } = await start(mount)
    const secret = 's3cr3t'
    const inside = track('a', { properties: secret, context: [secret] })
    const bad = batch({ type: secret, userId: { secret } }, inside)
    for (const body of [`{"batch":[${secret}`, bad, { batch: secret, writeKey: secret }])
      expect(JSON.stringify((await post(`${url}/v1/batch`, body)).body)).not.toContain(secret)
  })

  it('with a bad message: it is named, and the others are accepted', async () => {
    const { url, ids, collector } = await start(mount)
    const large = track('large', { properties: { text: 'x'.repeat(32_768) } })
    const bad = { type: 'track', userId: 5, messageId: 'b' }
    const reply = await post(`${url}/v1/batch`, batch(track('a'), bad, track('c'), large, 7, track('d')))
    expect(reply.status).toBe(200)
    const event = 'event: is missing: it must be a string that is not empty'
    expect(reply.body).toEqual({
      ok: false,
      receivedEvents: 6,
      okEvents: 3,
      errors: [
        { index: 1, messageId: 'b', reason: `${event}; userId: must be a string, not a number` },
        { index: 3, messageId: 'large', reason: expect.stringContaining('the limit is 32768') as unknown },
        { index: 4, reason: expect.stringContaining('must be an object') as unknown },
      ],
    })
    expect(ids()).toEqual(['a', 'c', 'd'])
    const counts = { received: 6, accepted: 3, refused: 3 }
    const more = { reasons: { Invalid: 2, TooLarge: 1, Full: 0 }, answers: { 200: 1 } }
    const sources = { web: counts, off: { received: 0 } }
    expect(collector.stats()).toMatchObject({ ...counts, ...more, sources })
  })

  it('with 32,768 bytes of a message and 512,000 of a body are accepted, and no byte more', async () => {
    const { url, ids } = await start(mount)
    const sized = (id: string, bytes: number): string => {
      const text = (length: number): string =>
        JSON.stringify(track(id, { properties: { text: 'é'.repeat(length >> 1) + 'x'.repeat(length % 2) } }))
      return text(bytes - text(0).length)
    }
    expect(Buffer.byteLength(sized('fits', 32_768))).toBe(32_768)
    const both = `{"batch":[${sized('fits', 32_768)},${sized('over', 32_769)}]}`
    const reply = await post(`${url}/v1/batch`, both)
    expect(reply.body).toMatchObject({ okEvents: 1, errors: [{ index: 1, messageId: 'over' }] })
    expect((await post(`${url}/v1/track`, sized('alone', 32_768))).status).toBe(200)
    expect((await post(`${url}/v1/track`, sized('alone too', 32_769))).status).toBe(413)
    const whole = JSON.stringify(batch(track('padded')))
    expect((await post(`${url}/v1/batch`, whole.padEnd(512_000, ' '))).status).toBe(200)
    expect((await post(`${url}/v1/batch`, whole.padEnd(512_001, ' '))).status).toBe(413)
    const packed = (bytes: number) =>
      post(`${url}/v1/batch`, gzipSync(whole.padEnd(bytes, ' ')), { 'Content-Encoding': 'gzip' })
    expect([(await packed(512_000)).status, (await packed(512_001)).status]).toEqual([200, 413])
    expect(ids()).toEqual(['fits', 'alone', 'padded', 'padded'])
  })
})
