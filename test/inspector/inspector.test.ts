import { createServer } from 'node:http'
import { connect } from 'node:net'
import { request } from 'undici'
import { describe, expect, it, onTestFinished, test, vi } from 'vitest'
import { throwing } from '../support/check.ts'
import { createClient } from '../../src/client/createClient.ts'
import { left } from 'fp-ts/lib/Either.js'
import { refused } from '../../src/core/failure.ts'
import { inspector } from '../../src/inspector/inspector.ts'
import { page } from '../../src/inspector/page.ts'
import { memory } from '../../src/sink/memory.ts'
import { listen } from '../support/http.ts'
import { openOver, track } from '../destination/virtual.ts'
import { sink } from '../../src/sink/fromFunction.ts'

const opened = () => {
  const state = { isDown: true }
  const crm = sink('http://127.0.0.1:7/crm', async () =>
    state.isDown ? left(refused('status', { status: 410 })) : undefined,
  )
  const destination = openOver([crm], { logger: false })
  const client = createClient('k', { sink: memory(), logger: false, drainOnExit: false, size: 1 })
  const panel = inspector(destination, client)
  onTestFinished(async () => {
    await Promise.all([panel.close(), client.close(), destination.close({ timeout: 0 })])
  })
  const authorization = `Bearer ${panel.token}`
  const ask = (path: string, init: RequestInit = {}, headers: Record<string, string> = { authorization }) =>
    panel.fetch(new Request(`http://host.example/inspect/${path}`, { ...init, headers }))
  const post = (path: string, body: object) =>
    ask(path, { method: 'POST', body: JSON.stringify(body) }).then((answer) => answer.json())
  return { state, destination, client, panel, authorization, ask, post }
}
type Reader = ReadableStreamDefaultReader<Uint8Array>
const readerOf = ({ body }: Response): Reader => (body ?? new ReadableStream<Uint8Array>()).getReader()
const snapshotIn = async (reader: Reader) => {
  const { value } = await reader.read()
  return JSON.parse(Buffer.from(value ?? []).toString()) as ReadonlyArray<{
    name: string
    totals: { accepted: number }
    word: string
  }>
}

it('looks at other parts from an update on; one that stays keeps its histories', async () => {
  expect(() => inspector({} as never)).toThrow(/a part is a destination/)
  const { client, destination, panel, ask } = opened()
  const seen = async () => (await snapshotIn(readerOf(await ask('stream')))).map(({ name }) => name)
  expect(await seen()).toEqual(['destination', 'client'])
  client.track({ userId: 'u', event: 'Seen', messageId: 'm1\ud800\n' })
  await client.flush()
  panel.update({ ...destination, name: 'hooks', stats: throwing('planted') }, client)
  expect(await seen()).toEqual(['hooks', 'client'])
  panel.update(client)
  expect(await seen()).toEqual(['client'])
  expect(panel.explain('m1\ud800\n')).toMatch(/^m1\ud800\?: .*delivered/)
  await destination.send(track('m2'))
  await destination.idle()
  expect(panel.explain('m2')).toBeUndefined()
})

describe('fetch', () => {
  it('gives the page without a token, under a policy that allows its own script and style only', async () => {
    const { ask } = opened()
    const answer = await ask('', {}, {})
    expect(await answer.text()).toBe(page)
    const policy = answer.headers.get('content-security-policy') ?? ''
    const own = /^default-src 'none'; script-src 'sha256-\S+='; style-src 'sha256-\S+='; connect-src 'self';/
    expect(policy).toMatch(own)
    expect(policy).not.toMatch(/unsafe|\*|http/)
    expect(Buffer.byteLength(page)).toBeLessThanOrEqual(12_288)
    expect(page).not.toMatch(/innerHTML|https?:|\bon\w+="/)
  })

  it('refuses what it should not do', async () => {
    const { ask, panel, authorization } = opened()
    const status = async (...given: Parameters<typeof ask>): Promise<number> => (await ask(...given)).status
    for (const path of ['stream', 'dead/0', 'story/0/m1']) {
      expect(await status(path, {}, {})).toBe(401)
      expect(await status(path, {}, { authorization: `Bearer ${panel.token}x` })).toBe(401)
      expect(await status(path, {}, { authorization, origin: 'http://evil.example' })).toBe(403)
      expect(await status(path, {}, { authorization, origin: 'null' })).toBe(403)
      expect(await status(path, { method: 'POST' })).toBe(405)
    }
    expect(await status('purge/0', { method: 'POST' }, {})).toBe(401)
    expect(await status('redrive/0')).toBe(405)
    expect(await status('dead/0', {}, { authorization, origin: 'http://host.example' })).toBe(200)
    for (const at of ['dead/7', 'story/0/unknown', 'else', 'else/stream2']) expect(await status(at)).toBe(404)
    for (const body of ['{', '{"a":1}']) expect(await status('purge/0', { method: 'POST', body })).toBe(500)
    expect(await status('purge/0', { method: 'POST', body: ' '.repeat(70_000) })).toBe(413)
    await panel.close()
    expect(await status('stream')).toBe(503)
  })

  it('lists dead letters without their payload, redrives and purges, and tells stories', async () => {
    const { ask, post, destination, client, panel, state } = opened()
    for (const id of ['m1', 'm2', 'm3']) await destination.send(track(id))
    client.track({ userId: 'u', event: 'Seen', messageId: 'm1' })
    await client.flush()
    await destination.idle()
    const text = await (await ask('dead/0')).text()
    expect(text).not.toContain('Seen')
    const { list } = JSON.parse(text) as { list: ReadonlyArray<{ id: string; key: string; type: string }> }
    expect(list.map(({ id, type }) => `${type} ${id}`)).toEqual(['track m1', 'track m2', 'track m3'])
    state.isDown = false
    expect(await post('redrive/0', { ids: [list[0]?.key] })).toEqual({ count: 1 })
    await destination.idle()
    expect(await post('purge/0', { ids: [] })).toEqual({ count: 0 })
    expect(await post('purge/0', {})).toEqual({ count: 2 })
    expect(await destination.dead.list()).toEqual([])
    const story = await (await ask('story/1/m1')).json()
    expect(story).toMatchObject({ id: 'm1', state: 'Delivered', type: 'track' })
    const [first = '', second = ''] = panel.explain('m1')?.split('\n') ?? []
    expect(first).toMatch(
      /m1: failed after \d+ ms at :7\/crm: status 410; rejected after 1 attempt: .*; taken after \d+ ms from :7\/crm; deli/,
    )
    expect(second).toMatch(/m1: taken after \d+ ms from memory; delivered after 1 attempt$/)
    expect(panel.explain('m9')).toBeUndefined()
    state.isDown = true
    for (let n = 0; n < 51; n++) await destination.send(track(`n${n}`))
    await destination.idle()
    expect(await (await ask('dead/0')).json()).toMatchObject({ count: 51, list: { length: 50 } })
    const { dead, ...counts } = destination.stats()
    panel.update({ ...destination, stats: () => counts })
    expect([dead, await (await ask('dead/2')).json()]).toMatchObject([51, { count: '50 or more' }])
  })

  it('streams a snapshot at once, then the newest when it is read; an end of the inspector ends it', async () => {
    const { ask, client, panel } = opened()
    const reader = readerOf(await ask('stream'))
    expect(await snapshotIn(reader)).toMatchObject([{ word: 'Idle' }, { totals: { accepted: 0 } }])
    // A reader that stops costs nothing: nothing is made for it.
    for (let n = 0; n < 50; n++) client.track({ userId: 'u', event: 'Seen' })
    await client.flush()
    expect((await snapshotIn(reader))[1]?.totals.accepted).toBe(50)
    const ended = reader.read()
    await panel.close()
    expect((await ended).done).toBe(true)
  })

  it('shows the last counters of a part whose stats throw, beside the others', async () => {
    const { ask, panel, client, destination } = opened()
    const stats = vi.fn(client.stats)
    panel.update({ ...client, stats }, destination)
    client.track({ userId: 'u', event: 'Seen' })
    const seen = async () => snapshotIn(readerOf(await ask('stream')))
    const before = await seen()
    stats.mockImplementation(throwing('planted'))
    expect(before[0]?.totals.accepted).toBe(1)
    expect((await seen()).map(({ totals }) => totals)).toEqual(before.map(({ totals }) => totals))
  })
})

test('listener is fetch for a server of the host, also below the `use` of Express', async () => {
  const { panel } = opened()
  const server = createServer((request, response) =>
    panel.listener(Object.assign(request, { originalUrl: request.url, url: '/' }), response),
  )
  const { port, close } = await listen(server)
  onTestFinished(close)
  const base = `http://127.0.0.1:${port}/inspect`
  expect(await (await fetch(`${base}/`)).text()).toBe(page)
  expect((await fetch(base)).status).toBe(404)
  await expect(panel.fetch({ headers: {} } as never)).rejects.toThrow('fetch takes a web Request')
})

describe('listen', () => {
  it('serves the same on 127.0.0.1, for requests to this host only', async () => {
    const { panel } = opened()
    const { url, close } = await panel.listen()
    const [base = '', token = ''] = url.split('#t=')
    expect(token).toBe(panel.token)
    expect((await fetch(base)).status).toBe(200)
    for (const host of ['evil.example', 'evil.example:80', '127.0.0.1', ''])
      expect((await request(base, { headers: { host } })).statusCode).toBe(421)
    const authorization = `Bearer ${token}`
    const posted = await fetch(`${base}purge/0`, { method: 'POST', body: '{}', headers: { authorization } })
    expect(await posted.json()).toEqual({ count: 0 })
    const long = { method: 'POST', body: ' '.repeat(70_000), headers: { authorization } }
    expect((await fetch(`${base}purge/0`, long)).status).toBe(413)
    const reader = readerOf(await fetch(`${base}stream`, { headers: { authorization } }))
    expect(await snapshotIn(reader)).toHaveLength(2)
    connect(Number(new URL(base).port), '127.0.0.1')
      .on('error', () => undefined)
      .write(`GET /stream HTTP/1.1\r\nhost: ${new URL(base).host}\r\nauthorization: ${authorization}\r\n\r\n`)
    await close()
    await expect(
      (async () => {
        while (!(await reader.read()).done);
        throw new Error('ended')
      })(),
    ).rejects.toThrow()
    await expect(fetch(base)).rejects.toThrow()
  })

  it('says that a port is in use, and which ports there are', async () => {
    const { panel } = opened()
    const { url, close } = await opened().panel.listen()
    onTestFinished(close)
    const port = Number(new URL(url).port)
    await expect(panel.listen({ port })).rejects.toThrow(
      `port ${port} at 127.0.0.1 cannot be used (EADDRINUSE): give another`,
    )
    await expect(async () => panel.listen({ port: 70_000 })).rejects.toThrow('port')
    const late = panel.listen()
    await panel.close()
    for (const each of [late, panel.listen()]) await expect(each).rejects.toThrow('the inspector is closed')
  })
})

it('makes nothing of a part that is not looked at any more', async () => {
  const { destination, panel } = opened()
  const sent = destination.send(track('m1'))
  expect(destination.stats().oldest).toBeGreaterThanOrEqual(0)
  await sent
  expect(() => inspector(destination, {} as never)).toThrow(/a part is a destination/)
  await panel.close()
  const unheard = destination.send(track('m2'))
  expect(destination.stats().oldest).toBeUndefined()
  await unheard
  expect(panel.explain('m2')).toBeUndefined()
})
