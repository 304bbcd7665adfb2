import { gzipSync } from 'node:zlib'
import { Subject, firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { Collector } from '../../src/collector/collector.ts'
import { memoryOutbox } from '../../src/outbox/index.ts'
import { turns } from '../support/check.ts'
import { until } from '../support/http.ts'
import { ask, basic, dial, open, post, postTracks, start, track } from './kit.ts'

const body = JSON.stringify({ batch: [track('a')] })

const headOf = (length: number, more = ''): string =>
  `POST /v1/batch HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic('wk:')}\r\nContent-Type: application/json\r\n${more}Content-Length: ${String(length)}\r\n\r\n`

/** Sends the start of a body, and waits until the collector waits for the rest. */
const begin = async ({ port, clock }: Awaited<ReturnType<typeof start>>, text: string, uploads = 1) => {
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
    expect([world.ids(), world.clock.pending()]).toEqual([['a'], 0])
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
    expect([line.gone(), world.ids()]).toEqual([true, ['another']])
    expect(world.collector.stats()).toMatchObject({ received: 1, answers: { 200: 1, 408: 1 } })
  })

  it('that breaks off leaves nothing behind', async () => {
    const world = await start(mount)
    const line = await begin(world, body.slice(0, 30))
    line.hangUp()
    await until(() => world.clock.pending() === 0)
    expect(world.collector.stats()).toMatchObject({ received: 0, accepted: 0, refused: 0 })
    // A handler cannot know whether its answer is written.
    expect(world.collector.stats().answers).toEqual(mount === 'handle' ? { 503: 1 } : {})
    expect((await post(`${world.url}/v1/batch`, { batch: [track('b')] })).status).toBe(200)
    expect(world.ids()).toEqual(['b'])
  })

  it('beyond maxUploadBytes is answered 503, and the others are accepted', async () => {
    const world = await start(mount, { maxUploadBytes: 70 })
    const first = await begin(world, body.slice(0, 60))
    const second = await dial(world.port)
    second.write(headOf(body.length) + body.slice(0, 60))
    expect(await second.until(answered)).toMatch(/^HTTP\/1.1 503 [^]*retry-after: 10[^]*too many requests/i)
    second.hangUp()
    first.write(body.slice(60, 70))
    first.write(body.slice(70))
    // Its length alone is above the bound.
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
    const line = await dial((await start(mount, { maxBatchBytes: 100 })).port)
    line.write(headOf(0).replace('Content-Length: 0', 'Transfer-Encoding: chunked'))
    for (let i = 0; i < 3; i++) line.write(`32\r\n${'x'.repeat(50)}\r\n`)
    expect(await line.until(answered)).toMatch(/^HTTP\/1.1 413 /)
    line.hangUp()
  })
})

it('compressed bodies have a bound together, and one is always accepted', async () => {
  const { collector, ids } = await start('handle', { maxUploadBytes: 1_100_000 })
  const send = (to: Collector, id: string): Promise<Response> =>
    ask(to, '/v1/batch', gzipSync(JSON.stringify({ batch: [track(id)] })), {
      Authorization: basic('wk:'),
      'Content-Encoding': 'gzip',
    })
  const all = await Promise.all(['a', 'b', 'c', 'd'].map((id) => send(collector, id)))
  expect(all.map(({ status }) => status)).toEqual([200, 200, 503, 503])
  expect([(await send(collector, 'e')).status, ids().toSorted()]).toEqual([200, ['a', 'b', 'e']])
  expect((await send(open({ maxUploadBytes: 100 }).collector, 'f')).status).toBe(200)
})

it('requests that wait for their answer have a bound together', async () => {
  const stored = new Subject<void>()
  const inner = memoryOutbox<unknown>()
  const enqueue = (items: ReadonlyArray<unknown>) =>
    firstValueFrom(stored, { defaultValue: undefined }).then(() => inner.enqueue(items))
  // A request of 72 bytes counts 1,384. Without its body two have 2,624.
  const { collector } = open({ outbox: () => ({ ...inner, enqueue }) as never, maxUploadBytes: 2_700 })
  const [first, second] = [postTracks(collector, 'a'), postTracks(collector, 'b')]
  expect((await second).status).toBe(503)
  stored.next()
  expect((await first).status).toBe(200)
  const third = postTracks(collector, 'c')
  await turns()
  stored.next()
  expect((await third).status).toBe(200)
})

it('a request that cannot be read is answered 500, and leaves no timer', async () => {
  const { collector, clock } = await start('handle')
  const signal = { throwIfAborted: () => undefined }
  const given = { method: 'POST', url: '/v1/track', headers: new Headers(), body: new ReadableStream() }
  // What code without types may give.
  const request = { ...given, signal } as unknown as Request
  expect([(await collector.handle(request)).status, clock.pending()]).toEqual([500, 0])
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
    const { port, clock } = await start('listener')
    const line = await dial(port)
    line.write(headOf(600_000))
    expect(await line.until(answered)).toMatch(/^HTTP\/1.1 413 /)
    line.write('x'.repeat(600_000) + headOf(body.length) + body)
    expect(await line.until((heard) => heard.includes('okEvents'))).toMatch(/ 200 [^]*"ok":true.*okEvents":1/)
    expect(clock.pending()).toBe(0)
    line.hangUp()
  })
})
