import { Agent, request } from 'undici'
import { afterAll, expect, test } from 'vitest'
import { scriptedNetwork, virtualClock, type Misbehaviour } from '../../src/testing/index.ts'
import { receiverOf } from '../support/http.ts'

const shown = (error: unknown): object => {
  const { name, code } = error as NodeJS.ErrnoException
  return code === undefined ? { name } : { name, code }
}

// The global dispatcher may be that of Node's own undici, whose errors differ.
const dispatcher = new Agent()
afterAll(() => dispatcher.close())

const over = async (url: string, signal?: AbortSignal): Promise<object> => {
  try {
    const options = { dispatcher, method: 'POST', body: '{}', ...(signal && { signal }) } as const
    const { statusCode, body } = await request(url, options)
    await body.text()
    return { status: statusCode }
  } catch (error) {
    return shown(error)
  }
}

const closed = { name: 'SocketError', code: 'UND_ERR_SOCKET' }

test.each<readonly [Misbehaviour, object]>([
  [{ do: 'status', code: 204 }, { status: 204 }],
  [{ do: 'interim', codes: [102, 103], code: 201 }, { status: 201 }],
  [{ do: 'reset' }, { name: 'Error', code: 'ECONNRESET' }],
  [{ do: 'hangUp' }, closed],
  [{ do: 'refuse' }, { name: 'Error', code: 'ECONNREFUSED' }],
  [{ do: 'truncate', code: 200, at: 7 }, closed],
  [{ do: 'hugeBody', code: 200, bytes: 100_000 }, { status: 200 }],
  [{ do: 'gzipBomb', code: 203 }, { status: 203 }],
  [{ do: 'hugeHeader' }, { name: 'HeadersOverflowError', code: 'UND_ERR_HEADERS_OVERFLOW' }],
  [{ do: 'hugeHeader', bytes: 9_000 }, { status: 200 }],
  [{ do: 'garbage' }, { name: 'HTTPParserError' }],
  [{ do: 'redirect', to: 'self' }, { status: 307 }],
])('a request meets in memory what it meets over a socket: %j', async (fault, expected) => {
  const receiver = await receiverOf([fault])
  const network = scriptedNetwork({ clock: virtualClock(), script: [fault] })
  const inMemory = await network.request({ url: receiver.url }).then(({ status }) => ({ status }), shown)
  expect([inMemory, await over(receiver.url)]).toEqual([expected, expected])
})

test.each<Misbehaviour>([
  { do: 'silence' },
  { do: 'interim' },
  { do: 'headersOnly', code: 200 },
  { do: 'slowBody', code: 200, bytesPerSecond: 1_000 },
])('an abort ends what would never end, in memory and over a socket: %j', async (fault) => {
  const receiver = await receiverOf([fault])
  const network = scriptedNetwork({ clock: virtualClock(), script: [fault] })
  const aborter = new AbortController()
  const both = [network.request({ signal: aborter.signal }).catch(shown), over(receiver.url, aborter.signal)]
  await receiver.arrived(1)
  expect(network.running()).toBe(1)
  aborter.abort()
  expect(await Promise.all(both)).toMatchObject([{ name: 'AbortError' }, { name: 'AbortError' }])
  expect([network.running(), network.calls[0]?.ended]).toEqual([0, 'cancelled'])
})

test('plays its script on the clock, and tells what it does', async () => {
  const clock = virtualClock()
  const lines: string[] = []
  const network = scriptedNetwork({
    clock,
    script: [{ do: 'status', code: 429, after: 30, headers: { 'Retry-After': '2' } }, { do: 'refuse' }],
    log: (line) => lines.push(line),
  })
  const first = network.request({ url: 'http://a.test/', method: 'PUT' })
  await clock.advance(30)
  expect(await first).toEqual({ status: 429, headers: { 'retry-after': '2' }, body: '' })
  for (let n = 0; n < 2; n++) await expect(network.request()).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  clock.tick(50)
  expect((await network.request()).status).toBe(200)
  expect(network.calls[0]).toMatchObject({ startedAt: 0, endedAt: 30, ended: 'answered' })
  expect(lines.slice(0, 4)).toEqual([
    '0 ms: request 0 PUT http://a.test/ meets {"do":"status","code":429,"after":30,"headers":{"Retry-After":"2"}}',
    '30 ms: request 0 answered',
    '30 ms: request 1 POST http://receiver.test/ meets {"do":"refuse"}',
    '30 ms: request 1 failed',
  ])
})

test('a signal that is aborted already starts nothing; an abort leaves no timer', async () => {
  const clock = virtualClock()
  const network = scriptedNetwork({ clock, script: () => ({ do: 'reset', after: 10 }) })
  await expect(network.request({ signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' })
  const aborter = new AbortController()
  const running = network.request({ signal: aborter.signal })
  expect(clock.pending()).toBe(1)
  aborter.abort()
  await expect(running).rejects.toMatchObject({ name: 'AbortError' })
  expect(clock.pending()).toBe(0)
})

test('gives a fetch: the same requests, as Responses', async () => {
  const limited: Misbehaviour = { do: 'status', code: 429, headers: { 'Retry-After': '2' } }
  const script: ReadonlyArray<Misbehaviour> = [limited, { do: 'status', code: 204 }, { do: 'reset' }]
  const { fetch, calls } = scriptedNetwork({ clock: virtualClock(), script })
  const url = 'http://receiver.test/hook'
  const first = await fetch(url, { method: 'POST', headers: { 'X-A': 'b' }, body: 'text' })
  expect([first.status, first.headers.get('retry-after'), await first.text()]).toEqual([429, '2', ''])
  expect(calls[0]?.request).toEqual({ url, method: 'POST', headers: { 'x-a': 'b' }, body: 'text' })
  expect((await fetch(new Request(url, { method: 'PUT' }))).status).toBe(204)
  expect(calls[1]?.request).toMatchObject({ url, method: 'PUT' })
  const failed = { name: 'TypeError', cause: { code: 'ECONNRESET' } }
  await expect(fetch(new URL(url))).rejects.toMatchObject(failed)
  await expect(fetch(url, { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' })
  const aborted = new Request(url, { signal: AbortSignal.abort() })
  await expect(fetch(aborted)).rejects.toMatchObject({ name: 'AbortError' })
})
