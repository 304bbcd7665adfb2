import type { createServer } from 'node:http'
import { gzipSync } from 'node:zlib'
import express from 'express'
import Fastify from 'fastify'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Collector } from '../../src/collector/collector.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { turns } from '../support/check.ts'
import { ask, basic, onServer, open, post, track, type Mounted } from './kit.ts'

const body = JSON.stringify({ batch: [track('a')] })

const streamed = (body: ReadableStream<unknown>): Request => {
  const init = { method: 'POST', body, headers: { Authorization: basic('wk:') }, duplex: 'half' }
  return new Request('http://x/v1/batch', init as RequestInit)
}

const whole = (...more: ReadonlyArray<unknown>): Request =>
  streamed(ReadableStream.from([new TextEncoder().encode(body), ...more]))

describe('a web request with chunks', () => {
  it('that are no bytes is refused, and the next one is accepted', async () => {
    const { collector } = open()
    for (const piece of ['text', {}, { byteLength: Number.NaN }]) {
      const bad = await collector.handle(whole(piece))
      expect([bad.status, await bad.text()]).toEqual([500, expect.stringContaining('no bytes')])
      expect((await collector.handle(whole())).status).toBe(200)
    }
    expect(collector.stats()).toMatchObject({ received: 3, accepted: 3 })
  })

  it.each([70_000, 0])('that never end, in pieces of %d bytes, is answered', async (size) => {
    let pulled = 0
    const body = new ReadableStream({
      pull: (controller) => {
        pulled++
        controller.enqueue(new Uint8Array(size))
      },
    })
    expect((await open().collector.handle(streamed(body))).status).toBe(413)
    expect(pulled).toBeLessThan(size === 0 ? 10_000 : 20)
  })
})

it.each(['before', 'while'])('a web request that hangs ends when aborted %s it is read', async (when) => {
  const abort = new AbortController()
  const cancel = vi.fn()
  const body = new ReadableStream({ cancel })
  if (when === 'before') abort.abort()
  const { collector } = open({ clock: virtualClock() })
  const answer = collector.handle(new Request(streamed(body), { signal: abort.signal }))
  await turns()
  abort.abort()
  expect((await answer).status).toBe(503)
  expect(cancel).toHaveBeenCalledOnce()
})

it.each(['utf8', 'latin1'] as const)('a Node request after setEncoding(%s) is accepted', async (encoding) => {
  const { collector, ids } = open()
  const { url, close } = await onServer((request, response) => {
    request.setEncoding(encoding)
    collector.listener(request, response)
  })
  onTestFinished(close)
  expect([(await post(`${url}/v1/batch`, { batch: [track('é')] })).status, ids()]).toEqual([200, ['é']])
})

type Listener = Parameters<typeof createServer>[1]

describe('mounted in a framework', () => {
  const text = { type: '*/*', limit: '512kb' }
  const inExpress =
    (parser?: express.RequestHandler): ((collector: Collector) => Promise<Mounted>) =>
    ({ listener }) => {
      const app = express()
      if (parser !== undefined) app.use(parser)
      return onServer(app.use('/a/v1', listener) as Listener)
    }

  it.each<[string, (collector: Collector) => Promise<Mounted>, number]>([
    ['Express', inExpress(), 200],
    ['Express after express.json()', inExpress(express.json({ limit: '512kb' })), 200],
    ['Express after express.raw()', inExpress(express.raw(text)), 200],
    ['Express after express.text()', inExpress(express.text(text)), 200],
    [
      'Fastify with its own parsers',
      async ({ listener }) => {
        const app = Fastify()
        app.addContentTypeParser('application/gzip', (_request, _payload, parsed) => parsed(null))
        app.post('/a/v1/*', (request, reply) => {
          reply.hijack()
          listener(Object.assign(request.raw, { body: request.body }), reply.raw)
        })
        return { url: await app.listen({ port: 0, host: '127.0.0.1' }), port: 0, close: () => app.close() }
      },
      // Its parser does not decompress.
      400,
    ],
  ])('%s, it answers as by itself', async (_, mount, gzipStatus) => {
    const { collector, ids } = open()
    const { url, close } = await mount(collector)
    onTestFinished(async () => {
      await close()
      await collector.close({ timeout: 0 })
    })
    const some = await post(`${url}/a/v1/batch`, { batch: [track('a'), { type: 'track', messageId: 'b' }] })
    expect([some.status, some.body]).toMatchObject([200, { okEvents: 1, errors: [{ messageId: 'b' }] }])
    expect((await post(`${url}/a/v1/track?x=1`, track('c', { type: undefined }))).status).toBe(200)
    const byBody = { ...track('d'), writeKey: 'wk' }
    expect((await post(`${url}/a/v1/track`, byBody, { Authorization: '' })).status).toBe(200)
    expect((await post(`${url}/a/v1/track`, track('e'), { Authorization: basic('x:') })).status).toBe(401)
    const gzip = gzipSync(JSON.stringify({ batch: [track('f')] }))
    expect((await post(`${url}/a/v1/batch`, gzip, { 'Content-Encoding': 'gzip' })).status).toBe(gzipStatus)
    const large = { batch: Array.from({ length: 1_500 }, (__, n) => track(`h${String(n)}`)) }
    expect((await post(`${url}/a/v1/batch`, large)).body).toMatchObject({ okEvents: 1_500 })
    expect(ids().slice(0, 3)).toEqual(['a', 'c', 'd'])
  })

  it('refuses an empty body for good, also after a parser', async () => {
    const { collector } = open()
    const { url, close } = await inExpress(express.raw(text))(collector)
    expect((await post(`${url}/a/v1/batch`, '')).status).toBe(400)
    await close()
    expect((await ask(collector, '/v1/batch', undefined)).status).toBe(400)
  })

  it('after a reader of the body, it answers 500', async () => {
    const { collector } = open()
    const reader: express.RequestHandler = (request, _, next) => request.on('end', () => next()).resume()
    const { url, close } = await inExpress(reader)(collector)
    const reply = await post(`${url}/a/v1/batch`, { batch: [track('a')] })
    const reason: unknown = expect.stringContaining('before the body parser')
    expect([reply.status, reply.body]).toMatchObject([500, { reason }])
    await close()
    for (const read of [(it: Request) => it.text(), (it: Request) => it.body?.getReader()]) {
      const request = new Request('http://x/v1/batch', { method: 'POST', body: '{}' })
      await read(request)
      const answer = await collector.handle(request)
      expect([answer.status, await answer.json()]).toMatchObject([500, { reason }])
    }
  })
})
