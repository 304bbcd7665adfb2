import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import type { CollectorOptions } from '../../src/collector/collector.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import type { VirtualClock } from '../../src/testing/virtualClock.ts'
import { basic, dial, eventually, mounts, post } from './mounts.ts'
import type { Line, Mounted } from './mounts.ts'
import { open, track } from './setting.ts'
import type { Setting } from './setting.ts'

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

/** Begins to send a body, and waits until the collector waits for the rest. */
const begin = async ({ port, clock }: Here, text: string, uploads = 1): Promise<Line> => {
  const line = await dial(port)
  line.write(headOf(body.length) + text)
  await eventually(() => clock.pending() >= uploads)
  // The head and what came with it are there; nothing more will be.
  await clock.settle()
  return line
}

const answered = (heard: string): boolean => heard.includes('\r\n\r\n{') && heard.endsWith('}')

describe.each(['listener', 'handle'] as const)('a body that comes to %s', (mount) => {
  it('in pieces is taken when it is whole', async () => {
    const world = await start(mount)
    const line = await begin(world, '')
    for (const letter of body) line.write(letter)
    expect(await line.until(answered)).toMatch(/^HTTP\/1.1 200 /)
    expect(world.ids()).toEqual(['a'])
    expect(world.clock.pending()).toBe(0)
    line.hangUp()
  })

  it('for longer than its time is answered 408, at that moment and not before', async () => {
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

  it('and breaks off changes nothing, and leaves nothing behind', async () => {
    const world = await start(mount)
    const line = await begin(world, body.slice(0, 30))
    line.hangUp()
    await eventually(() => world.clock.pending() === 0)
    expect(world.collector.stats()).toMatchObject({ received: 0, accepted: 0, refused: 0 })
    expect((await post(`${world.url}/v1/batch`, { batch: [track('b')] })).status).toBe(200)
    expect(world.ids()).toEqual(['b'])
  })

  it('beside too many others is answered 503, and the others are taken', async () => {
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

  it('when the collector closes is answered 503 at once, and so is every later request', async () => {
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

  it('and is too long in pieces, without a length, is answered 413 before its end', async () => {
    const world = await start(mount, { maxBatch: 100 })
    const line = await dial(world.port)
    line.write(headOf(0).replace('Content-Length: 0', 'Transfer-Encoding: chunked'))
    for (let i = 0; i < 3; i++) line.write(`32\r\n${'x'.repeat(50)}\r\n`)
    expect(await line.until(answered)).toMatch(/^HTTP\/1.1 413 /)
    line.hangUp()
  })
})

describe('bodies that are decompressed', () => {
  it('at the same time are bounded together, and one always has its turn', async () => {
    const { collector, ids } = open({ maxUploading: 1_100_000 })
    const request = (id: string): Request =>
      new Request('http://x/v1/batch', {
        method: 'POST',
        body: gzipSync(JSON.stringify({ batch: [track(id)] })),
        headers: { Authorization: basic('wk:'), 'Content-Encoding': 'gzip' },
      })
    const all = await Promise.all(['a', 'b', 'c', 'd'].map((id) => collector.handle(request(id))))
    expect(all.map(({ status }) => status)).toEqual([200, 200, 503, 503])
    expect((await collector.handle(request('e'))).status).toBe(200)
    expect(ids().toSorted()).toEqual(['a', 'b', 'e'])
    const small = open({ maxUploading: 100 })
    expect((await small.collector.handle(request('f'))).status).toBe(200)
  })
})

describe('what a sender goes on sending after its answer', () => {
  it('flows away unread, for as long as a body may take', async () => {
    const world = await start('listener', { uploadTimeout: 1_000 })
    const line = await dial(world.port)
    line.write(headOf(5_000_000).replace('/v1/batch', '/nowhere'))
    expect(await line.until(answered)).toMatch(/^HTTP\/1.1 404 /)
    for (let i = 0; i < 10; i++) line.write('x'.repeat(100_000))
    await eventually(() => world.clock.pending() > 0)
    expect(line.gone()).toBe(false)
    await world.clock.advance(1_000)
    await line.until(() => false)
    expect(line.gone()).toBe(true)
  })

  it('does not spoil the next request of the connection', async () => {
    const world = await start('listener')
    const line = await dial(world.port)
    line.write(headOf(600_000))
    expect(await line.until(answered)).toMatch(/^HTTP\/1.1 413 /)
    line.write('x'.repeat(600_000) + headOf(body.length) + body)
    expect(await line.until((heard) => heard.includes('okEvents'))).toMatch(/HTTP\/1.1 200 [^]*okEvents":1/)
    line.hangUp()
  })
})
