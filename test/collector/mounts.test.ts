import type { createServer } from 'node:http'
import { gzipSync } from 'node:zlib'
import express from 'express'
import Fastify from 'fastify'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Collector, CollectorOptions } from '../../src/collector/collector.ts'
import { virtualClock, type VirtualClock } from '../../src/testing/virtualClock.ts'
import { turns } from '../support/check.ts'
import { until } from '../support/http.ts'
import { ask, basic, dial, mounts, onServer, open, post, track } from './kit.ts'
import type { Line, Mounted, Setting } from './kit.ts'

interface Here extends Setting, Mounted {
  readonly clock: VirtualClock
}

let here: Here | undefined
const start = async (mount: keyof typeof mounts, options: CollectorOptions = {}): Promise<Here> => {
  const clock = virtualClock()
  const setting = open({ clock, ...options })
  here = { clock, ...setting, ...(await mounts[mount](setting.collector)) }
  return here
}

afterEach(async () => {
  await here?.close()
  const closed = here?.collector.close({ timeout: 0 })
  await here?.clock.runAll()
  await closed
  expect(here?.clock.pending() ?? 0).toBe(0)
  here = undefined
})

const body = JSON.stringify({ batch: [track('a')] })

const headOf = (length: number, more = ''): string =>
  `POST /v1/batch HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic('wk:')}\r\nContent-Type: application/json\r\n${more}Content-Length: ${String(length)}\r\n\r\n`

/** Sends the start of a body, and waits until the collector waits for the rest. */
const begin = async ({ port, clock }: Here, text: string, uploads = 1): Promise<Line> => {
  const line = await dial(port)
  line.write(headOf(body.length) + text)
  await until(() => clock.pending() >= uploads)
  await clock.settle()
  return line
}

const answered = (heard: string): boolean => heard.includes('\r\n\r\n{') && heard.endsWith('}')

describe.each(['listener', 'handle'] as const)('a body sent to %s', (mount) => {
  it('in pieces is accepted when it is complete', async () => {
    const world = await start(mount)
    const line = await begin(world, '')
    for (const char of body) line.write(char)
    expect(await line.until(answered)).toMatch(/^HTTP\/1.1 200 /)
    expect(world.ids()).toEqual(['a'])
    expect(world.clock.pending()).toBe(0)
    line.hangUp()
  })

  it('for longer than uploadTimeout is answered 408', async () => {
    const world = await start(mount, { uploadTimeout: 1_000 })
    const line = await begin(world, body.slice(0, 10))
    await world.clock.advance(999)
    line.write(body.slice(10, 20))
    await post(`${world.url}/v1/batch`, { batch: [track('another')] })
    expect(line.heard()).toBe('')
    await world.clock.advance(1)
    expect(await line.until(answered)).toMatch(/^HTTP\/1.1 408 [^]*connection: close[^]*took too long/i)
    await line.until(() => false)
    expect(line.gone()).toBe(true)
    expect(world.ids()).toEqual(['another'])
    expect(world.collector.stats()).toMatchObject({ received: 1, answers: { 200: 1, 408: 1 } })
  })

  it('that breaks off leaves nothing behind', async () => {
    const world = await start(mount)
    const line = await begin(world, body.slice(0, 30))
    line.hangUp()
    await until(() => world.clock.pending() === 0)
    expect(world.collector.stats()).toMatchObject({ received: 0, accepted: 0, refused: 0 })
    expect((await post(`${world.url}/v1/batch`, { batch: [track('b')] })).status).toBe(200)
    expect(world.ids()).toEqual(['b'])
  })

  it('beyond maxUploading is answered 503, and the others are accepted', async () => {
    const world = await start(mount, { maxUploading: 80 })
    const first = await begin(world, body.slice(0, 60))
    const second = await dial(world.port)
    second.write(headOf(body.length) + body.slice(0, 60))
    expect(await second.until(answered)).toMatch(/^HTTP\/1.1 503 [^]*retry-after: 10[^]*too many bodies/i)
    second.hangUp()
    first.write(body.slice(60, 70))
    first.write(body.slice(70))
    expect(await first.until(answered)).toMatch(/^HTTP\/1.1 200 /)
    first.hangUp()
  })

  it('is answered 503 when the collector closes, as are later requests', async () => {
    const world = await start(mount)
    const line = await begin(world, body.slice(0, 30))
    const closed = world.collector.close()
    expect(await line.until(answered)).toMatch(/^HTTP\/1.1 503 [^]*retry-after: 10[^]*closing/i)
    const late = await post(`${world.url}/v1/batch`, { batch: [track('late')] })
    expect([late.status, late.headers.get('retry-after')]).toEqual([503, '10'])
    expect((await post(`${world.url}/v1/nowhere`, {})).status).toBe(404)
    await world.clock.runAll()
    await closed
    expect(world.ids()).toEqual([])
    expect(await world.collector.accept('web', track('x'))).toMatchObject({ left: { _tag: 'Closed' } })
    expect(await world.collector.requestDeletion('u')).toMatchObject({ left: { _tag: 'Closed' } })
    line.hangUp()
  })

  it('that is too long, without a length, is answered 413 before its end', async () => {
    const world = await start(mount, { maxBatch: 100 })
    const line = await dial(world.port)
    line.write(headOf(0).replace('Content-Length: 0', 'Transfer-Encoding: chunked'))
    for (let i = 0; i < 3; i++) line.write(`32\r\n${'x'.repeat(50)}\r\n`)
    expect(await line.until(answered)).toMatch(/^HTTP\/1.1 413 /)
    line.hangUp()
  })
})

describe('compressed bodies', () => {
  it('have a bound together, and one is always accepted', async () => {
    const { collector, ids } = open({ maxUploading: 1_100_000 })
    const send = (to: Collector, id: string): Promise<Response> =>
      ask(to, '/v1/batch', gzipSync(JSON.stringify({ batch: [track(id)] })), {
        Authorization: basic('wk:'),
        'Content-Encoding': 'gzip',
      })
    const all = await Promise.all(['a', 'b', 'c', 'd'].map((id) => send(collector, id)))
    expect(all.map(({ status }) => status)).toEqual([200, 200, 503, 503])
    expect((await send(collector, 'e')).status).toBe(200)
    expect(ids().toSorted()).toEqual(['a', 'b', 'e'])
    const small = open({ maxUploading: 100 })
    expect((await send(small.collector, 'f')).status).toBe(200)
  })
})

describe('a body that is sent on after its answer', () => {
  it('is read and dropped until uploadTimeout', async () => {
    const world = await start('listener', { uploadTimeout: 1_000 })
    const line = await dial(world.port)
    line.write(headOf(5_000_000).replace('/v1/batch', '/nowhere'))
    expect(await line.until(answered)).toMatch(/^HTTP\/1.1 404 /)
    for (let i = 0; i < 10; i++) line.write('x'.repeat(100_000))
    await until(() => world.clock.pending() > 0)
    expect(line.gone()).toBe(false)
    await world.clock.advance(1_000)
    await line.until(() => false)
    expect(line.gone()).toBe(true)
  })

  it('leaves the connection usable', async () => {
    const world = await start('listener')
    const line = await dial(world.port)
    line.write(headOf(600_000))
    expect(await line.until(answered)).toMatch(/^HTTP\/1.1 413 /)
    line.write('x'.repeat(600_000) + headOf(body.length) + body)
    expect(await line.until((heard) => heard.includes('okEvents'))).toMatch(/HTTP\/1.1 200 [^]*okEvents":1/)
    line.hangUp()
  })
})

const streamed = (body: ReadableStream<unknown>): Request =>
  new Request('http://x/v1/batch', {
    method: 'POST',
    body,
    headers: { Authorization: basic('wk:') },
    duplex: 'half',
  } as RequestInit)

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

  it.each([
    ['with bytes', new Uint8Array(70_000)],
    ['empty', new Uint8Array(0)],
  ])('that never end (%s) is answered', async (_, piece) => {
    let pulled = 0
    const body = new ReadableStream({
      pull: (controller) => {
        pulled++
        controller.enqueue(piece.slice())
      },
    })
    expect((await open().collector.handle(streamed(body))).status).toBe(413)
    expect(pulled).toBeLessThan(10_000)
  })
})

it.each(['before', 'while'])(
  'a web request that hangs ends when it is aborted %s it is read',
  async (when) => {
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
  },
)

it.each(['utf8', 'latin1'] as const)('a Node request after setEncoding(%s) is accepted', async (encoding) => {
  const { collector, ids } = open()
  const { url, close } = await onServer((request, response) => {
    request.setEncoding(encoding)
    collector.listener(request, response)
  })
  onTestFinished(close)
  expect((await post(`${url}/v1/batch`, { batch: [track('é')] })).status).toBe(200)
  expect(ids()).toEqual(['é'])
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
        const url = await app.listen({ port: 0, host: '127.0.0.1' })
        return { url, port: 0, close: () => app.close() }
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

  it('after a reader of the body, it answers 500', async () => {
    const { collector } = open()
    const { url, close } = await inExpress(
      (request, _, next) => void request.on('end', () => next()).resume(),
    )(collector)
    const reply = await post(`${url}/a/v1/batch`, { batch: [track('a')] })
    expect([reply.status, reply.body]).toMatchObject([
      500,
      { reason: expect.stringContaining('before the body parser') as unknown },
    ])
    await close()
    const request = new Request('http://x/v1/batch', { method: 'POST', body: '{}' })
    await request.text()
    expect((await collector.handle(request)).status).toBe(500)
  })
})
