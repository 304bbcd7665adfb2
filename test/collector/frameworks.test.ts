import { gzipSync } from 'node:zlib'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import express from 'express'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import { afterEach, describe, expect, it } from 'vitest'
import type { Collector } from '../../src/collector/collector.ts'
import { basic, post } from './mounts.ts'
import { open, track } from './setting.ts'

type Close = () => Promise<unknown>
type Start = (collector: Collector) => Promise<readonly [url: string, close: Close]>

const onServer = (server: Server, prefix: string): Promise<readonly [string, Close]> =>
  new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      const close: Close = () => new Promise((closed) => server.close(closed).closeAllConnections())
      resolve([`http://127.0.0.1:${String(port)}${prefix}`, close])
    })
  })

const inExpress =
  (mount: (app: express.Express, collector: Collector) => unknown, prefix = ''): Start =>
  (collector) => {
    const app = express()
    mount(app, collector)
    app.get('/own', (_, response) => void response.json({ own: true }))
    return onServer(createServer(app as Parameters<typeof createServer>[1]), prefix)
  }

const inFastify =
  (mount: (app: FastifyInstance, collector: Collector) => unknown, prefix = ''): Start =>
  async (collector) => {
    const app = Fastify()
    mount(app, collector)
    app.get('/own', () => ({ own: true }))
    await app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = app.server.address() as AddressInfo
    return [`http://127.0.0.1:${String(port)}${prefix}`, () => app.close()]
  }

const inHono =
  (mount: (app: Hono, collector: Collector) => unknown, prefix = ''): Start =>
  (collector) => {
    const app = new Hono()
    mount(app, collector)
    app.get('/own', (context) => context.json({ own: true }))
    return onServer(createAdaptorServer({ fetch: app.fetch }) as Server, prefix)
  }

/** Something that takes a while before the collector is asked, as a look-up of a session does. */
const slow = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5))

const frameworks: Readonly<Record<string, Start>> = {
  'Express 5': inExpress((app, { listener }) => app.use('/v1', listener)),
  'Express 5, behind a prefix': inExpress((app, { listener }) => app.use('/track', listener), '/track'),
  'Express 5, in a router': inExpress((app, { listener }) => {
    const router = express.Router()
    router.post('/v1/:kind', listener)
    app.use('/a/b', router)
  }, '/a/b'),
  'Express 5, after express.json()': inExpress((app, { listener }) =>
    app.use(express.json({ limit: '512kb' })).use('/v1', listener),
  ),
  'Express 5, after express.raw()': inExpress((app, { listener }) =>
    app.use(express.raw({ type: '*/*', limit: '512kb' })).use('/v1', listener),
  ),
  'Express 5, after express.text()': inExpress((app, { listener }) =>
    app.use(express.text({ type: '*/*', limit: '512kb' })).use('/v1', listener),
  ),
  'Express 5, after something slow': inExpress((app, { listener }) =>
    app.use((_request, _response, next) => void slow().then(() => next())).use('/v1', listener),
  ),
  'Fastify 5, its parsers taken away': inFastify((app, { listener }) => {
    void app.register((scope, _options, done) => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null))
      scope.all('/v1/*', (request, reply) => {
        reply.hijack()
        listener(request.raw, reply.raw)
      })
      done()
    })
  }),
  'Fastify 5, with what its parsers made': inFastify((app, { listener }) => {
    app.addContentTypeParser('application/gzip', (_request, _payload, parsed) => parsed(null))
    app.post('/v1/*', (request, reply) => {
      reply.hijack()
      listener(Object.assign(request.raw, { body: request.body }), reply.raw)
    })
  }),
  Hono: inHono((app, { handle }) => app.all('/v1/*', (context) => handle(context.req.raw))),
  'Hono, behind a prefix': inHono(
    (app, { handle }) => app.all('/track/*', (context) => handle(context.req.raw)),
    '/track',
  ),
}

let closeServer: Close | undefined
let collector: Collector | undefined
afterEach(async () => {
  await closeServer?.()
  await collector?.close({ timeout: 0 })
})

describe.each(Object.entries(frameworks))('%s', (name, start) => {
  it('has the collector answer what is posted, and everything else by itself', async () => {
    const setting = open()
    collector = setting.collector
    const [url, close] = await start(collector)
    closeServer = close
    const batch = { batch: [track('a'), { type: 'track', messageId: 'b' }] }
    const some = await post(`${url}/v1/batch`, batch)
    expect(some.status).toBe(200)
    expect(some.body).toMatchObject({
      receivedEvents: 2,
      okEvents: 1,
      errors: [{ index: 1, messageId: 'b' }],
    })
    expect((await post(`${url}/v1/import/`, { batch: [track('c')] })).status).toBe(200)
    expect((await post(`${url}/v1/track?x=1`, track('d', { type: undefined }))).status).toBe(200)
    const byBody = { ...track('e'), writeKey: 'wk' }
    expect((await post(`${url}/v1/track`, byBody, { Authorization: '' })).status).toBe(200)
    expect((await post(`${url}/v1/track`, track('f'), { Authorization: basic('x:') })).status).toBe(401)
    const unpacked = !/after express\.(json|raw|text)|parsers made/.test(name)
    const gzip = { 'Content-Encoding': 'gzip' }
    const packed = await post(`${url}/v1/batch`, gzipSync(JSON.stringify({ batch: [track('g')] })), gzip)
    // Body parsers of Express decompress; Fastify's own refuses what is compressed.
    expect(packed.status).toBe(name.includes('parsers made') ? 400 : 200)
    const large = JSON.stringify({ batch: Array.from({ length: 1_500 }, (_, n) => track(`h${String(n)}`)) })
    expect((await post(`${url}/v1/batch`, large)).body).toMatchObject({ okEvents: 1_500 })
    if (unpacked) expect((await post(`${url}/v1/batch`, large.repeat(30))).status).toBe(413)
    const own = await fetch(`${new URL(url).origin}/own`)
    expect(await own.json()).toEqual({ own: true })
    expect(setting.ids().slice(0, 4)).toEqual(['a', 'c', 'd', 'e'])
    expect(collector.stats().accepted).toBe(packed.status === 200 ? 1_505 : 1_504)
  })
})

describe('a mount that cannot work', () => {
  it('is answered 500, so that senders keep what they have, and says what is wrong', async () => {
    const setting = open()
    collector = setting.collector
    const [url, close] = await inExpress((app, { listener }) => {
      app.use((request, _, next) => void request.on('end', () => next()).resume())
      app.use('/v1', listener)
    })(collector)
    closeServer = close
    const reply = await post(`${url}/v1/batch`, { batch: [track('a')] })
    expect(reply.status).toBe(500)
    expect(reply.body).toMatchObject({ reason: expect.stringContaining('before the body parser') as unknown })
  })

  it('of a request that was read is answered 500 too', async () => {
    const setting = open()
    collector = setting.collector
    const request = new Request('http://x/v1/batch', { method: 'POST', body: '{}' })
    await request.text()
    expect((await collector.handle(request)).status).toBe(500)
  })
})
